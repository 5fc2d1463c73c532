//! A change of the allocator's own data: logged, then made in three places, each flushed and
//! fenced.

use super::header::Header;
use crate::checksum::checksum;
use crate::error::{Error, Result};
use crate::layout::Geometry;
use crate::medium::{LINE_BYTES, Medium};
use crate::pool::Pool;

/// Words of the log of a bin: those of a change, a zero, and the check.
const LOG_WORDS: usize = 8;
const CHANGE_WORDS: usize = 6;
const CHECK: usize = LOG_WORDS - 1;

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

    /// Returns the offset of the header of the run that is used first, or 0, and the number of
    /// slots in use.
    pub fn load<M: Medium>(self, pool: &Pool<M>) -> [u64; 2] {
        pool.load_words(self.0)
    }

    /// Stores both, durably.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn store<M: Medium>(self, pool: &Pool<M>, current: u64, used: u64) -> Result<()> {
        put(pool, self.0, &[current, used])
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
        match pool.load_words::<LOG_WORDS>(self.log_at()) == [0; LOG_WORDS] {
            true => Ok(()),
            false => put(pool, self.log_at(), &[0; LOG_WORDS]),
        }
    }
}

/// Stores words, durably.
fn put<M: Medium>(pool: &Pool<M>, at: u64, words: &[u64]) -> Result<()> {
    pool.store_words(at, words);
    pool.medium.flush(at, size_of_val(words) as u64);
    pool.medium.fence()
}

/// The change that takes or gives back one slot: the offset of the bitmap's word, its new value,
/// the header of the run, the free slots of the run, and both words of the bin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change(pub [u64; CHANGE_WORDS]);

impl Change {
    /// Logs the change and makes it: 4 lines and 4 fences.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn make<M: Medium>(self, pool: &Pool<M>, bin: Bin) -> Result<()> {
        let mut words = [0; LOG_WORDS];
        words[..CHANGE_WORDS].copy_from_slice(&self.0);
        words[CHECK] = checksum(bin.log_at(), &words[..CHECK]);
        put(pool, bin.log_at(), &words)?;
        self.apply(pool, bin)
    }

    fn apply<M: Medium>(self, pool: &Pool<M>, bin: Bin) -> Result<()> {
        let [at, value, header, free, current, used] = self.0;
        put(pool, at, &[value])?;
        put(pool, Header(header).free_at(), &[free])?;
        bin.store(pool, current, used)
    }

    /// Repeats the change in the log of a bin, if the log is valid.
    ///
    /// # Errors
    ///
    /// The log names a header that is none of `headers`, or a fence failed.
    pub fn redo<M: Medium>(pool: &Pool<M>, bin: Bin, headers: &[Header]) -> Result<()> {
        let at = bin.log_at();
        let words: [u64; LOG_WORDS] = pool.load_words(at);
        if checksum(at, &words[..CHECK]) != words[CHECK] {
            return Ok(());
        }
        let [word, _, header, _, current, _, ..] = words;
        let known = |header: u64| headers.binary_search(&Header(header)).is_ok();
        let sound = known(header) && (current == 0 || known(current));
        if !sound || !Header(header).has_word(word, &pool.geometry) {
            return Err(Error::damaged(format!(
                "the pool is damaged: the allocator's log at {at} names no header"
            )));
        }
        Self(std::array::from_fn(|i| words[i])).apply(pool, bin)
    }
}
