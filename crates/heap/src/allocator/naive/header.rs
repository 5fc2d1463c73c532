//! The header of a run, in the pool: which slots are in use.
//!
//! Headers lie in chunks of their own, apart from the objects (Kannan 2013, section 3.2.1), each a
//! line and then the bitmap:
//!
//! | byte | word |
//! |---|---|
//! | 0 | chunk of the run:48, check:16; 0: no header |
//! | 8 | bytes of a slot |
//! | 16 | free slots |
//! | 64 … | a bit for each slot, 1 if it is in use |

use crate::error::{Error, Result};
use crate::layout::{Geometry, checked, unchecked};
use crate::medium::{LINE_BYTES, Medium, WORD_BYTES};
use crate::pool::Pool;

/// Positions of the words of a header.
const FREE_AT: u64 = 16;
const BITMAP_AT: u64 = 64;

/// Returns the bytes of a header with its bitmap, which has enough bits for the smallest slots.
pub(super) fn stride(geometry: &Geometry) -> u64 {
    BITMAP_AT + (geometry.chunk_bytes() / 16 / 8).max(LINE_BYTES)
}

/// A header, by its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Header(pub u64);

impl Header {
    /// Returns all headers for which a chunk has room.
    pub fn all_of(geometry: &Geometry, chunk: u64) -> impl DoubleEndedIterator<Item = Self> {
        geometry.places(chunk, stride(geometry)).map(Self)
    }

    /// Writes the header of a new run, durably.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn begin<M: Medium>(self, pool: &Pool<M>, chunk: u64, slot: u64) -> Result<()> {
        let slots = pool.geometry.chunk_bytes() / slot;
        let words = slots.div_ceil(64);
        (0..words).for_each(|word| pool.medium.store_word(self.word_at(word), 0));
        pool.medium.flush(self.word_at(0), words * WORD_BYTES);
        pool.medium.fence()?;
        pool.store_words(self.0, &[checked(self.0, chunk), slot, slots]);
        pool.medium.flush(self.0, 3 * WORD_BYTES);
        pool.medium.fence()
    }

    /// Erases the header; a fence makes that durable.
    pub fn end<M: Medium>(self, pool: &Pool<M>) {
        pool.medium.store_word(self.0, 0);
        pool.medium.flush(self.0, WORD_BYTES);
    }

    /// Returns the chunk of the run; `None` if it is no header.
    ///
    /// # Errors
    ///
    /// The header is damaged.
    pub fn chunk<M: Medium>(self, pool: &Pool<M>) -> Result<Option<u64>> {
        match pool.medium.load_word(self.0) {
            0 => Ok(None),
            word => {
                let damaged = || self.damaged("names no chunk");
                unchecked(self.0, word).ok_or_else(damaged).map(Some)
            }
        }
    }

    /// Returns the bytes of a slot.
    pub fn slot<M: Medium>(self, pool: &Pool<M>) -> u64 {
        pool.medium.load_word(self.0 + WORD_BYTES)
    }

    /// Free slots.
    pub fn free<M: Medium>(self, pool: &Pool<M>) -> u64 {
        pool.medium.load_word(self.free_at())
    }

    /// Returns where the number of free slots lies.
    pub fn free_at(self) -> u64 {
        self.0 + FREE_AT
    }

    /// Returns where a word of the bitmap lies.
    pub fn word_at(self, word: u64) -> u64 {
        self.0 + BITMAP_AT + word * WORD_BYTES
    }

    /// Returns whether a word of the bitmap lies there.
    pub fn has_word(self, at: u64, geometry: &Geometry) -> bool {
        (self.word_at(0)..self.0 + stride(geometry)).contains(&at) && at.is_multiple_of(WORD_BYTES)
    }

    /// Returns whether a slot is in use.
    pub fn is_used<M: Medium>(self, pool: &Pool<M>, slot: u64) -> bool {
        pool.medium.load_word(self.word_at(slot / 64)) >> (slot % 64) & 1 != 0
    }

    /// Returns the first of `slots` slots that is not in use.
    pub fn first_free<M: Medium>(self, pool: &Pool<M>, slots: u64) -> Option<u64> {
        let free_in = |word| {
            let free = !pool.medium.load_word(self.word_at(word));
            (free != 0).then(|| word * 64 + u64::from(free.trailing_zeros()))
        };
        let first = (0..slots.div_ceil(64)).find_map(free_in);
        first.filter(|&slot| slot < slots)
    }

    pub fn damaged(self, how: &str) -> Error {
        Error::damaged(format!(
            "the pool is damaged: the header of a run at {} {how}",
            self.0
        ))
    }
}
