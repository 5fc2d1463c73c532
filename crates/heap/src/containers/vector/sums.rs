//! The checksums of a vector whose pool has them: of its table, of pointers to segments, and of
//! elements.

use crate::checksum::{Checksum, checksum};
use crate::error::{Error, Result, ensure};
use crate::layout::{checked, unchecked};
use crate::medium::WORD_BYTES;
use crate::sink::{Sink, Source};

use super::elements::Elements;
use super::layout::{LEN_WORD, TABLE_WORDS, len_at};

/// Index of the word of the table with the check of the number of elements.
const LEN_CHECK: u64 = 5;
/// Index of the word with the check of what never changes.
const TABLE_CHECK: usize = 6;

fn len_check(table: u64, len: u64) -> u64 {
    checksum(len_at(table), &[len])
}

fn table_check(at: u64, words: &[u64]) -> u64 {
    checksum(at, &[words[0], words[1], words[2], words[4]])
}

/// Puts the checks into a new table at an offset, with the words behind it.
pub(super) fn sealed(at: u64, words: &[u64]) -> Vec<u64> {
    let mut words = words.to_vec();
    words[LEN_CHECK as usize] = len_check(at, words[LEN_WORD as usize]);
    words[TABLE_CHECK] = table_check(at, &words);
    words
}

/// Checks the part of a table that never changes.
///
/// # Errors
///
/// It is damaged.
pub(super) fn expect_table(at: u64, words: &[u64; TABLE_WORDS]) -> Result<()> {
    let same = words[TABLE_CHECK] == table_check(at, words);
    ensure(same, || Error::damaged("a vector's table is damaged"))
}

impl Elements {
    /// Returns the number of elements, whose check is right.
    ///
    /// # Errors
    ///
    /// It is damaged.
    pub fn checked_len(&self, source: &impl Source) -> Result<u64> {
        let [len, _, check] = source.words(len_at(self.table))?;
        ensure(check == len_check(self.table, len), || {
            Error::damaged("a vector is damaged: its number of elements is")
        })?;
        Ok(len)
    }

    /// Changes the number of elements.
    pub fn set_len<S: Sink>(&self, sink: &mut S, len: u64) -> Result<()> {
        if self.shape.checked {
            let check = len_check(self.table, len);
            sink.set(self.table + LEN_CHECK * WORD_BYTES, check)?;
        }
        sink.set(len_at(self.table), len)
    }

    /// Returns the word of the directory at an offset for a segment.
    pub fn said(&self, at: u64, segment: u64) -> u64 {
        match self.shape.checked {
            false => segment,
            true => checked(at, segment),
        }
    }

    /// Returns the segment to which a word of the directory at an offset points; 0 if there is
    /// none.
    ///
    /// # Errors
    ///
    /// The word is damaged.
    #[inline]
    pub fn pointer(&self, at: u64, word: u64) -> Result<u64> {
        if !self.shape.checked || word == 0 {
            return Ok(word);
        }
        unchecked(at, word)
            .ok_or_else(|| Error::damaged("a vector is damaged: a pointer to a segment is"))
    }

    /// Returns the check of an element at an offset.
    #[inline]
    pub fn element_check(&self, at: u64, index: u64, bytes: &[u8]) -> u64 {
        let mut sum = Checksum::new(at);
        // Not that of another vector, whose segment a damaged pointer may name.
        sum.word(self.table);
        sum.word(index);
        sum.bytes(bytes);
        sum.finish()
    }

    /// Checks an element at an offset, whose bytes were read.
    ///
    /// # Errors
    ///
    /// It is damaged.
    #[inline]
    pub fn expect_element(
        &self,
        source: &impl Source,
        at: u64,
        index: u64,
        bytes: &[u8],
    ) -> Result<()> {
        if !self.shape.checked {
            return Ok(());
        }
        let check = source.word(at.saturating_add(self.shape.padded()))?;
        let same = check == self.element_check(at, index, bytes);
        ensure(same, || {
            Error::damaged(format!("a vector is damaged: its element {index} is"))
        })
    }
}
