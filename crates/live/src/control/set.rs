//! Pages of a chunk: a set of numbers below 512.

/// Pages of a chunk: those of a page table.
pub(super) const PAGES: usize = 512;

/// A set of pages of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Set([u64; PAGES / 64]);

impl Set {
    /// Adds a page.
    pub fn add(&mut self, page: usize) {
        self.0[page / 64] |= 1 << (page % 64);
    }

    /// Whether a page is in it.
    pub fn has(&self, page: usize) -> bool {
        self.0[page / 64] >> (page % 64) & 1 == 1
    }

    /// Returns the number of pages.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Returns the pages of either.
    pub fn or(&self, other: &Self) -> Self {
        self.with(other, |a, b| a | b)
    }

    /// Returns the pages of both.
    pub fn and(&self, other: &Self) -> Self {
        self.with(other, |a, b| a & b)
    }

    /// Returns those that are not in the other.
    pub fn without(&self, other: &Self) -> Self {
        self.with(other, |a, b| a & !b)
    }

    /// Returns the pages in order.
    pub fn pages(&self) -> impl Iterator<Item = usize> + '_ {
        (0..PAGES).filter(|page| self.has(*page))
    }

    fn with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|at| of(self.0[at], other.0[at])))
    }
}

impl FromIterator<usize> for Set {
    fn from_iter<I: IntoIterator<Item = usize>>(pages: I) -> Self {
        let mut set = Self::default();
        pages.into_iter().for_each(|page| set.add(page));
        set
    }
}
