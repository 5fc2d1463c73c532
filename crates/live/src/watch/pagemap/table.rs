//! Cache of one page table: 512 pages, each in memory, in the tier, or nowhere.

use terrace_policy::Residence;

/// Pages in a table.
pub const PAGES: usize = 512;
const WORDS: usize = PAGES / 64;

/// A bitmap with a bit a page.
#[derive(Clone, Copy, Default)]
struct Bits([u64; WORDS]);

impl Bits {
    fn get(&self, page: usize) -> bool {
        self.0[page / 64] & (1 << (page % 64)) != 0
    }

    /// Sets the pages from `first` to before `end`.
    fn set(&mut self, first: usize, end: usize) {
        for (index, word) in self.0.iter_mut().enumerate() {
            let start = index * 64;
            let (from, to) = (first.clamp(start, start + 64), end.clamp(start, start + 64));
            if from < to {
                *word |= (u64::MAX >> (64 - (to - from))) << (from - start);
            }
        }
    }
}

/// Cache of one table.
#[derive(Clone, Copy, Default)]
pub struct Table {
    /// Generation since which the pages in memory are known.
    pub generation: u64,
    /// Number of the look that it was last read in.
    pub look: u64,
    /// Questions in that look about pages that were not in memory, or not known to be.
    pub asked: u32,
    /// Pages whose places in the tier have been noted.
    noted: Bits,
    read: Bits,
    in_memory: Bits,
    in_tier: Bits,
}

impl Table {
    /// Makes the cache of a table with no known entry.
    pub fn new(generation: u64, look: u64) -> Self {
        Self {
            generation,
            look,
            ..Self::default()
        }
    }

    /// Returns the residence of a page, if it has been read.
    pub fn residence(&self, page: usize) -> Option<Residence> {
        let found = match (self.in_memory.get(page), self.in_tier.get(page)) {
            (true, _) => Residence::InMemory,
            (false, true) => Residence::InTier,
            (false, false) => Residence::Nowhere,
        };
        self.read.get(page).then_some(found)
    }

    /// Records that the place of a page in the tier has been noted.
    pub fn note(&mut self, page: usize) {
        self.noted.set(page, page + 1);
    }

    /// Whether the place of a page has been noted.
    pub fn is_noted(&self, page: usize) -> bool {
        self.noted.get(page)
    }

    /// Forgets all but which pages are in memory.
    pub fn keep_in_memory(&mut self) {
        self.read = self.in_memory;
        self.in_tier = Bits::default();
        self.asked = 0;
    }

    /// Records that the pages from `first` to before `end` have been read; they are nowhere unless
    /// [`Table::found`] records otherwise.
    pub fn was_read(&mut self, first: usize, end: usize) {
        self.read.set(first, end);
    }

    /// Records the residence of the pages from `first` to before `end`.
    pub fn found(&mut self, first: usize, end: usize, residence: Residence) {
        match residence {
            Residence::InMemory => self.in_memory.set(first, end),
            Residence::InTier => self.in_tier.set(first, end),
            Residence::Nowhere => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_page_by_page(
            runs in proptest::collection::vec((0..=PAGES, 0..=PAGES, 0..3u8), 0..12),
            read in (0..=PAGES, 0..=PAGES),
        ) {
            let mut fast = Table::default();
            let mut slow = [None; PAGES];
            fast.was_read(read.0, read.1);
            slow[read.0..read.1.max(read.0)].fill(Some(Residence::Nowhere));
            for (first, end, kind) in runs {
                let (first, end) = (first.max(read.0), end.min(read.1));
                let residence = [Residence::InMemory, Residence::InTier, Residence::Nowhere]
                    [usize::from(kind)];
                fast.found(first, end, residence);
                for page in &mut slow[first.min(end)..end] {
                    // A page that is in memory may have a copy in the tier.
                    if residence == Residence::InMemory || *page == Some(Residence::Nowhere) {
                        *page = Some(residence);
                    }
                }
            }
            for (page, slow) in slow.iter().enumerate() {
                prop_assert_eq!(fast.residence(page), *slow, "page {}", page);
            }
        }
    }
}
