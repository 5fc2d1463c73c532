//! Order of at most 16 ways in a word.

/// Most ways.
pub const MOST: usize = 16;
/// The lowest and the highest bit of each group of four.
const LOWEST: u64 = 0x1111_1111_1111_1111;
const HIGHEST: u64 = LOWEST << 3;

/// The ways of a set, most recently used first: bits 4 p to 4 p + 3 are the way at position p. All
/// 16 ways are in the word; those that the set does not have stay behind the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack(u64);

impl Stack {
    /// Order with way 0 as the most recent.
    pub const ORDERED: Self = Self(0xfedc_ba98_7654_3210);

    /// Returns the way at a position.
    #[inline]
    pub fn at(self, position: usize) -> usize {
        (self.0 >> (4 * position) & 15) as usize
    }

    /// Number of ways that come before this one.
    #[inline(always)]
    pub fn position(self, way: usize) -> usize {
        let others = self.0 ^ (LOWEST * way as u64);
        // The lowest of these bits belongs to a group that is 0.
        let zero = others.wrapping_sub(LOWEST) & !others & HIGHEST;
        zero.trailing_zeros() as usize / 4
    }

    /// Puts a way behind `to` others.
    #[inline(always)]
    pub fn put(&mut self, way: usize, to: usize) {
        let before = |position: usize| (1 << (4 * position)) - 1;
        let from = self.position(way);
        let left = self.0 & before(from);
        let without = left | (self.0 >> 4) & !before(from);
        let moved = (without & !before(to)) << 4;
        self.0 = without & before(to) | moved | (way as u64) << (4 * to);
    }
}
