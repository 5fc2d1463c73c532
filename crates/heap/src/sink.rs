//! What an operation of a container reads from and writes to: the pool by an operation of its own, or
//! a transaction that is under way. So each is written once.

use std::mem;

use bytemuck::Pod;

use crate::checksum::padded;
use crate::error::Result;
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;

/// Where a container reads. All offsets are checked against the pool's bounds.
pub(crate) trait Source {
    /// Words from an offset on, a multiple of 8.
    ///
    /// # Errors
    ///
    /// They are not all in the pool.
    fn load(&self, offset: u64, into: &mut [u64]) -> Result<()>;

    /// As [`Source::load`], of bytes.
    ///
    /// # Errors
    ///
    /// As [`Source::load`].
    fn load_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()>;

    /// One word.
    ///
    /// # Errors
    ///
    /// As [`Source::load`].
    #[inline]
    fn word(&self, offset: u64) -> Result<u64> {
        let [word] = self.words(offset)?;
        Ok(word)
    }

    /// A few words.
    ///
    /// # Errors
    ///
    /// As [`Source::load`].
    #[inline]
    fn words<const N: usize>(&self, offset: u64) -> Result<[u64; N]> {
        let mut words = [0; N];
        self.load(offset, &mut words)?;
        Ok(words)
    }

    /// Plain data.
    ///
    /// # Errors
    ///
    /// As [`Source::load`].
    #[inline]
    fn get<T: Pod>(&self, offset: u64) -> Result<T> {
        let mut value = T::zeroed();
        self.load_bytes(offset, bytemuck::bytes_of_mut(&mut value))?;
        Ok(value)
    }

    /// Whether these bytes lie there, filled with zeros to a whole word.
    ///
    /// # Errors
    ///
    /// As [`Source::load`].
    fn equal(&self, offset: u64, bytes: &[u8]) -> Result<bool> {
        let mut found = vec![0; bytes.len()];
        self.load_bytes(offset, &mut found)?;
        Ok(found == bytes)
    }

    /// These bytes are going to be read soon. They need not lie in the pool.
    fn prefetch(&self, offset: u64, len: u64);

    /// Bytes of the pool.
    fn bytes(&self) -> u64;
}

/// Where a container writes, too. Everything that one sink was given happens together or not at all.
pub(crate) trait Sink: Source {
    /// Changes a word.
    ///
    /// # Errors
    ///
    /// It is not in the pool.
    fn set(&mut self, at: u64, word: u64) -> Result<()>;

    /// Changes words that follow each other.
    ///
    /// # Errors
    ///
    /// They are not all in the pool.
    fn write(&mut self, at: u64, words: &[u64]) -> Result<()>;

    /// Fills bytes of an object at which nobody looks before all that this sink was given has
    /// happened. Each part is filled with zeros to a whole word.
    ///
    /// # Errors
    ///
    /// They are not all in the pool, or a fence failed.
    fn fill(&mut self, at: u64, parts: &[&[u8]]) -> Result<()>;

    /// Makes an object that nobody can reach yet; says at which offset.
    ///
    /// # Errors
    ///
    /// There is no room, or a fence failed.
    fn make(&mut self, contents: &Contents) -> Result<u64>;

    /// Frees an object.
    ///
    /// # Errors
    ///
    /// There is none at this offset.
    fn free(&mut self, object: u64) -> Result<()>;
}

/// What a new object holds.
pub(crate) enum Contents<'a> {
    /// These, one after the other, each filled with zeros to a whole word.
    Parts(&'a [&'a [u8]]),
    /// So many zeros.
    Zeros(u64),
}

impl Contents<'_> {
    /// Their bytes, a multiple of 8.
    pub fn bytes(&self) -> u64 {
        match self {
            Contents::Parts(parts) => padded_len(parts),
            Contents::Zeros(bytes) => bytes.next_multiple_of(WORD_BYTES),
        }
    }
}

/// Bytes of parts of which each is filled to a whole word.
#[inline]
pub(crate) fn padded_len(parts: &[&[u8]]) -> u64 {
    let padded = |part: &&[u8]| part.len().next_multiple_of(8) as u64;
    parts.iter().map(padded).sum()
}

impl<M: Medium> Source for Pool<M> {
    #[inline]
    fn load(&self, offset: u64, into: &mut [u64]) -> Result<()> {
        self.check(offset, mem::size_of_val(into) as u64, "a container")?;
        self.medium.load_words(offset, into);
        Ok(())
    }

    #[inline]
    fn load_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.check(offset, into.len().next_multiple_of(8) as u64, "a container")?;
        self.medium.load(offset, into);
        Ok(())
    }

    #[inline]
    fn equal(&self, offset: u64, bytes: &[u8]) -> Result<bool> {
        self.check(
            offset,
            bytes.len().next_multiple_of(8) as u64,
            "a container",
        )?;
        let (words, rest) = bytes.as_chunks::<8>();
        for (at, word) in (offset..).step_by(8).zip(words) {
            if self.medium.load_word(at) != u64::from_le_bytes(*word) {
                return Ok(false);
            }
        }
        let at = offset + words.len() as u64 * 8;
        Ok(rest.is_empty() || self.medium.load_word(at) == padded(rest))
    }

    #[inline]
    fn prefetch(&self, offset: u64, len: u64) {
        self.medium.prefetch(offset, len);
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.geometry.offset_of(self.chunks())
    }
}
