//! Bytes of the pool at a glance: most loads of a transaction are of what it has not written, and
//! need not look for writes.

/// Bits of the bytes of a piece.
const SHIFT: u32 = 9;
/// An odd constant with as many ones as zeros (the fraction of the golden ratio).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Words of the bits of pieces.
const BIT_WORDS: usize = 128;
/// More pieces are not looked up one by one.
const LONG: u64 = 64;

/// Pieces of 512 bytes, each by a bit that others share.
pub(super) struct Pieces {
    bits: [u64; BIT_WORDS],
    /// The words of `bits` that are not 0, a bit for each, so that few are forgotten cheaply.
    used: [u64; BIT_WORDS / 64],
}

impl Default for Pieces {
    fn default() -> Self {
        Self {
            bits: [0; BIT_WORDS],
            used: Default::default(),
        }
    }
}

impl Pieces {
    /// Returns the word and the bit of a piece.
    #[inline]
    fn place(piece: u64) -> (usize, u64) {
        let bit = (piece.wrapping_mul(FACTOR) >> (58 - BIT_WORDS.ilog2())) as usize;
        (bit / 64, 1 << (bit % 64))
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        for (of, used) in self.used.iter_mut().enumerate() {
            while *used != 0 {
                self.bits[of * 64 + used.trailing_zeros() as usize] = 0;
                *used &= *used - 1;
            }
        }
    }

    /// Adds bytes, at least one.
    #[inline]
    pub fn add(&mut self, offset: u64, len: u64) {
        for piece in offset >> SHIFT..=(offset + len - 1) >> SHIFT {
            self.add_piece(piece);
        }
    }

    /// Adds the byte at an offset.
    #[inline]
    pub fn add_at(&mut self, offset: u64) {
        self.add_piece(offset >> SHIFT);
    }

    #[inline]
    fn add_piece(&mut self, piece: u64) {
        let (word, bit) = Self::place(piece);
        self.bits[word] |= bit;
        self.used[word / 64] |= 1 << (word % 64);
    }

    /// Returns whether any of these bytes, or those near them, may have been added.
    #[inline]
    pub fn may_hold(&self, offset: u64, len: u64) -> bool {
        // What a damaged pool says may be anything, and is checked later.
        let last = offset.saturating_add(len.max(1) - 1) >> SHIFT;
        let first = offset >> SHIFT;
        match last - first {
            0..=1 => self.holds(first) | self.holds(last),
            2..LONG => self.holds_any(first, last),
            _ => true,
        }
    }

    #[inline(never)]
    fn holds_any(&self, first: u64, last: u64) -> bool {
        (first..=last).any(|piece| self.holds(piece))
    }

    #[inline]
    fn holds(&self, piece: u64) -> bool {
        let (word, bit) = Self::place(piece);
        self.bits[word] & bit != 0
    }
}
