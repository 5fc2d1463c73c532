//! A change of the allocator's own data: logged, then made in three places, each flushed and fenced.

use super::header::Header;
use crate::checksum::checksum;
use crate::error::{Error, Result};
use crate::layout::Geometry;
use crate::medium::{LINE_BYTES, Medium, WORD_BYTES};
use crate::pool::Pool;

/// Words of the log of a bin.
const LOG_WORDS: usize = 8;

/// A bin, by its offset: the state of a size class in the pool.
///
/// | byte | word |
/// |---|---|
/// | 0 | offset of the header of the run that is used first, or 0 |
/// | 8 | slots of the class in use |
/// | 64 | log: word of a bitmap, its new value, header, its free slots, words 0 and 8 of the bin; 0; check of these |
#[derive(Clone, Copy, Debug)]
pub(super) struct Bin(u64);

impl Bin {
    /// Bytes of a bin with its log.
    const BYTES: u64 = 2 * LINE_BYTES;

    /// Returns the bin of a size class.
    pub fn of(geometry: &Geometry, class: usize) -> Self {
        let chunk = geometry.bins().expect("a pool of this allocator has bins");
        Self(geometry.offset_of(chunk) + class as u64 * Self::BYTES)
    }

    /// Returns the header of the run that is used first, and the number of slots in use.
    pub fn load<M: Medium>(self, pool: &Pool<M>) -> (Option<Header>, u64) {
        let [current, used] = pool.load_words(self.0);
        ((current != 0).then_some(Header(current)), used)
    }

    /// Stores both, durably.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn store<M: Medium>(
        self,
        pool: &Pool<M>,
        current: Option<Header>,
        used: u64,
    ) -> Result<()> {
        pool.store_words(self.0, &[current.map_or(0, |header| header.0), used]);
        pool.medium.flush(self.0, 2 * WORD_BYTES);
        pool.medium.fence()
    }

    fn log_at(self) -> u64 {
        self.0 + LINE_BYTES
    }

    /// Makes the log empty, durably, so that a header that it names can be used for another run.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn clear_log<M: Medium>(self, pool: &Pool<M>) -> Result<()> {
        if pool.load_words::<LOG_WORDS>(self.log_at()) == [0; LOG_WORDS] {
            return Ok(());
        }
        pool.store_words(self.log_at(), &[0; LOG_WORDS]);
        pool.medium.flush(self.log_at(), LINE_BYTES);
        pool.medium.fence()
    }
}

/// The change that takes or gives back one slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub header: Header,
    /// Offset of the bitmap's word, and its new value.
    pub word: (u64, u64),
    /// Free slots of the run.
    pub free: u64,
    /// The run that is used first.
    pub current: Option<Header>,
    /// Slots of the class in use.
    pub used: u64,
}

impl Change {
    /// Logs the change and makes it: 4 lines and 4 fences.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn make<M: Medium>(&self, pool: &Pool<M>, bin: Bin) -> Result<()> {
        let at = bin.log_at();
        pool.store_words(at, &self.encode(at));
        pool.medium.flush(at, LINE_BYTES);
        pool.medium.fence()?;
        self.apply(pool, bin)
    }

    fn apply<M: Medium>(&self, pool: &Pool<M>, bin: Bin) -> Result<()> {
        for (at, value) in [self.word, (self.header.free_at(), self.free)] {
            pool.medium.store_word(at, value);
            pool.medium.flush(at, WORD_BYTES);
            pool.medium.fence()?;
        }
        bin.store(pool, self.current, self.used)
    }

    fn encode(&self, at: u64) -> [u64; LOG_WORDS] {
        let mut words = [
            self.word.0,
            self.word.1,
            self.header.0,
            self.free,
            self.current.map_or(0, |header| header.0),
            self.used,
            0,
            0,
        ];
        words[LOG_WORDS - 1] = checksum(at, &words[..LOG_WORDS - 1]);
        words
    }

    /// Repeats the change in the log of a bin, if the log is valid.
    ///
    /// # Errors
    ///
    /// The log names a header that is none of `headers`, or a fence failed.
    pub fn redo<M: Medium>(pool: &Pool<M>, bin: Bin, headers: &[Header]) -> Result<()> {
        let at = bin.log_at();
        let words: [u64; LOG_WORDS] = pool.load_words(at);
        if checksum(at, &words[..LOG_WORDS - 1]) != words[LOG_WORDS - 1] {
            return Ok(());
        }
        let change = Self {
            header: Header(words[2]),
            word: (words[0], words[1]),
            free: words[3],
            current: (words[4] != 0).then_some(Header(words[4])),
            used: words[5],
        };
        let known = |header: Header| headers.binary_search_by_key(&header.0, |h| h.0).is_ok();
        if !known(change.header)
            || !change.current.is_none_or(known)
            || !change.header.has_word(change.word.0, &pool.geometry)
        {
            return Err(Error::damaged(format!(
                "the pool is damaged: the allocator's log at {at} names no header"
            )));
        }
        change.apply(pool, bin)
    }
}
