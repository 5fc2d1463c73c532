//! Sources and sinks: what a container's operation reads from and writes to. Both the pool, by an
//! operation of its own, and a transaction under way are one, so each operation is written once.

use std::mem;

use crate::checksum::{Checksum, padded};
use crate::error::Result;
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;

/// Words that are loaded at once where there may be changes.
const CHANGED_WORDS: usize = 16;

/// A source of words: a pool, with the changes of an operation or a transaction that are not in it
/// yet. All offsets are checked against the bounds of the pool.
pub(crate) trait Source {
    type Medium: Medium;

    /// Returns the pool.
    fn pool(&self) -> &Pool<Self::Medium>;

    /// Returns whether there may be changes that are not in the pool yet.
    ///
    /// # Errors
    ///
    /// Nothing can be read any more: the transaction has ended.
    fn is_changed(&self) -> Result<bool>;

    /// Same as [`Source::is_changed`], for these bytes; true if that is not known.
    ///
    /// # Errors
    ///
    /// Same as [`Source::is_changed`].
    #[inline(always)]
    fn is_changed_at(&self, _offset: u64, _len: u64) -> Result<bool> {
        self.is_changed()
    }

    /// Same as [`Source::is_changed_at`], at little price for many bytes without changes; true if
    /// that is not known.
    fn is_changed_near(&self, offset: u64, len: u64) -> bool;

    /// Overlays these changes on words that were loaded from an offset on.
    fn overlay(&self, offset: u64, loaded: &mut [u64]);

    /// Loads words from an offset on, a multiple of 8.
    ///
    /// # Errors
    ///
    /// The bytes are not all in the pool, or [`Source::is_changed`] fails.
    #[inline(always)]
    fn load(&self, offset: u64, into: &mut [u64]) -> Result<()> {
        let len = mem::size_of_val(into) as u64;
        let (pool, changed) = (self.pool(), self.is_changed_at(offset, len)?);
        pool.check(offset, len, "a container")?;
        pool.medium.load_words(offset, into);
        if changed {
            self.overlay(offset, into);
        }
        Ok(())
    }

    /// Same as [`Source::load`], for bytes.
    ///
    /// # Errors
    ///
    /// Same as [`Source::load`].
    #[inline]
    fn load_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let len = into.len().next_multiple_of(8) as u64;
        if self.is_changed_at(offset, len)? {
            return self.load_changed(offset, into);
        }
        let pool = self.pool();
        pool.check(offset, len, "a container")?;
        pool.medium.load(offset, into);
        Ok(())
    }

    /// Same as [`Source::load_bytes`], where there may be changes.
    ///
    /// # Errors
    ///
    /// Same as [`Source::load`].
    #[inline(never)]
    fn load_changed(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let len = into.len().next_multiple_of(8) as u64;
        self.pool().check(offset, len, "a container")?;
        let mut words = [0; CHANGED_WORDS];
        let pieces = into.chunks_mut(size_of_val(&words));
        for (at, piece) in (offset..).step_by(size_of_val(&words)).zip(pieces) {
            let words = &mut words[..piece.len().div_ceil(8)];
            self.load(at, words)?;
            piece.copy_from_slice(&bytemuck::cast_slice(words)[..piece.len()]);
        }
        Ok(())
    }

    /// Returns one word.
    ///
    /// # Errors
    ///
    /// Same as [`Source::load`].
    #[inline]
    fn word(&self, offset: u64) -> Result<u64> {
        let [word] = self.words(offset)?;
        Ok(word)
    }

    /// Returns a few words.
    ///
    /// # Errors
    ///
    /// Same as [`Source::load`].
    #[inline]
    fn words<const N: usize>(&self, offset: u64) -> Result<[u64; N]> {
        let mut words = [0; N];
        self.load(offset, &mut words)?;
        Ok(words)
    }

    /// Returns whether `bytes`, filled with zeros to a whole word, lie at an offset.
    ///
    /// # Errors
    ///
    /// Same as [`Source::load`].
    #[inline]
    fn equal(&self, offset: u64, bytes: &[u8]) -> Result<bool> {
        let (pool, len) = (self.pool(), bytes.len().next_multiple_of(8) as u64);
        if self.is_changed_at(offset, len)? {
            let mut found = vec![0; bytes.len()];
            self.load_bytes(offset, &mut found)?;
            return Ok(found == bytes);
        }
        pool.check(offset, len, "a container")?;
        let (words, rest) = bytes.as_chunks::<8>();
        for (at, word) in (offset..).step_by(8).zip(words) {
            if pool.medium.load_word(at) != u64::from_le_bytes(*word) {
                return Ok(false);
            }
        }
        let at = offset + words.len() as u64 * 8;
        Ok(rest.is_empty() || pool.medium.load_word(at) == padded(rest))
    }

    /// Adds words from an offset on to a checksum.
    ///
    /// # Errors
    ///
    /// Same as [`Source::load`].
    #[inline]
    fn add_to(&self, sum: &mut Checksum, offset: u64, len: u64) -> Result<()> {
        if self.is_changed_at(offset, len)? {
            return self.add_changed(sum, offset, len);
        }
        let pool = self.pool();
        pool.check(offset, len, "a container")?;
        for at in (offset..offset + len).step_by(8) {
            sum.word(pool.medium.load_word(at));
        }
        Ok(())
    }

    /// Same as [`Source::add_to`], where there may be changes.
    ///
    /// # Errors
    ///
    /// Same as [`Source::load`].
    #[inline(never)]
    fn add_changed(&self, sum: &mut Checksum, offset: u64, len: u64) -> Result<()> {
        self.pool().check(offset, len, "a container")?;
        let mut words = vec![0; (len / WORD_BYTES) as usize];
        self.load(offset, &mut words)?;
        words.iter().for_each(|&word| sum.word(word));
        Ok(())
    }

    /// Hints that these bytes are read soon. They need not lie in the pool.
    #[inline]
    fn prefetch(&self, offset: u64, len: u64) {
        self.pool().medium.prefetch(offset, len);
    }

    /// Returns the bytes of the pool.
    #[inline]
    fn bytes(&self) -> u64 {
        let pool = self.pool();
        pool.geometry.offset_of(pool.chunks())
    }
}

/// A sink for changes. All changes given to one sink happen together or not at all.
pub(crate) trait Sink: Source {
    /// Changes a word.
    ///
    /// # Errors
    ///
    /// The word is not in the pool.
    fn set(&mut self, at: u64, word: u64) -> Result<()>;

    /// Changes a run of words.
    ///
    /// # Errors
    ///
    /// The bytes are not all in the pool.
    fn write(&mut self, at: u64, words: &[u64]) -> Result<()>;

    /// Changes bytes, and fills them with zeros to a whole word.
    ///
    /// # Errors
    ///
    /// Same as [`Sink::write`].
    fn write_bytes(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let words: Vec<u64> = bytes.chunks(8).map(padded).collect();
        match words[..] {
            [] => Ok(()),
            [word] => self.set(at, word),
            ref words => self.write(at, words),
        }
    }

    /// Fills bytes of an object that are not read before all changes of this sink have happened,
    /// except through this sink. Each part is filled with zeros to a whole word. `free` says that
    /// nothing lies there in the pool as it is without the changes of this sink, so that the bytes
    /// may be stored at once.
    ///
    /// # Errors
    ///
    /// The bytes are not all in the pool, or a fence failed.
    fn fill(&mut self, at: u64, parts: &[&[u8]], free: bool) -> Result<()>;

    /// Makes an object to which nothing points yet; returns its offset.
    ///
    /// # Errors
    ///
    /// The pool is full, or a fence failed.
    fn make(&mut self, contents: &Contents) -> Result<u64>;

    /// Same as [`Sink::make`], for words.
    ///
    /// # Errors
    ///
    /// Same as [`Sink::make`].
    #[inline]
    fn make_words(&mut self, words: &[u64]) -> Result<u64> {
        self.make(&Contents::Parts(&[bytemuck::cast_slice(words)]))
    }

    /// Frees an object.
    ///
    /// # Errors
    ///
    /// No object begins at this offset.
    fn free(&mut self, object: u64) -> Result<()>;
}

/// The contents of a new object.
pub(crate) enum Contents<'a> {
    /// These parts, one after the other, each filled with zeros to a whole word.
    Parts(&'a [&'a [u8]]),
    /// Such parts, and behind them their checksum, seeded with the offset of the object.
    Checked(&'a [&'a [u8]]),
    /// As many bytes as this, a multiple of 8: the words that are returned for the offset of the
    /// object.
    Placed(u64, &'a dyn Fn(u64) -> Vec<u64>),
    /// A number of zeros.
    Zeros(u64),
}

impl Contents<'_> {
    /// Returns the bytes of the contents, a multiple of 8.
    pub fn bytes(&self) -> u64 {
        match self {
            Contents::Parts(parts) => padded_len(parts),
            Contents::Checked(parts) => padded_len(parts) + WORD_BYTES,
            Contents::Placed(bytes, _) => *bytes,
            Contents::Zeros(bytes) => bytes.next_multiple_of(WORD_BYTES),
        }
    }
}

/// Returns the bytes of parts, each filled to a whole word.
#[inline]
pub(crate) fn padded_len(parts: &[&[u8]]) -> u64 {
    let padded = |part: &&[u8]| part.len().next_multiple_of(8) as u64;
    parts.iter().map(padded).sum()
}

impl<M: Medium> Source for Pool<M> {
    type Medium = M;

    #[inline]
    fn pool(&self) -> &Self {
        self
    }

    #[inline]
    fn is_changed(&self) -> Result<bool> {
        Ok(false)
    }

    #[inline]
    fn is_changed_near(&self, _: u64, _: u64) -> bool {
        false
    }

    fn overlay(&self, _: u64, _: &mut [u64]) {}
}
