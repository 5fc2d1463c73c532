//! The checksums of a map whose pool has them: of its table, of the pages of its directory, and of lines. That
//! of an entry is in `entry`.

use crate::checksum::checksum;
use crate::error::{Error, Result, ensure};
use crate::medium::{LINE_BYTES, WORD_BYTES};
use crate::sink::{Contents, Sink, Source};

use super::chain::LINE_WORDS;
use super::layout::{DIRECTORY_WORD, TABLE_WORDS};
use super::table::Table;

/// Index of the words with the checks of the words before the directory, and of the directory.
const HEAD_CHECK: usize = TABLE_WORDS - 2;
/// Index of the word of a line with its check.
const LINE_CHECK: usize = LINE_WORDS - 1;

/// The two checks of a table at an offset.
fn table_checks(at: u64, words: &[u64]) -> [u64; 2] {
    let (head, directory) = words[..HEAD_CHECK].split_at(DIRECTORY_WORD as usize);
    [checksum(at, head), checksum(!at, directory)]
}

/// Puts the checks into a new table at an offset, with the words behind it.
pub(super) fn sealed(at: u64, words: &[u64]) -> Vec<u64> {
    let mut words = words.to_vec();
    let checks = table_checks(at, &words);
    words[HEAD_CHECK..TABLE_WORDS].copy_from_slice(&checks);
    words
}

/// Checks the words of a table.
///
/// # Errors
///
/// They are not those that were written.
pub(super) fn expect_table(at: u64, words: &[u64; TABLE_WORDS]) -> Result<()> {
    let same = table_checks(at, words) == words[HEAD_CHECK..];
    ensure(same, || Error::damaged("a hash map's table is damaged"))
}

/// Puts the check into a line at an offset.
pub(super) fn seal_line(at: u64, line: &mut [u64]) {
    line[LINE_CHECK] = checksum(at, &line[..LINE_CHECK]);
}

/// Checks a line.
///
/// # Errors
///
/// It is not the one that was written.
#[inline]
pub(super) fn expect_line(at: u64, line: &[u64; LINE_WORDS]) -> Result<()> {
    let same = checksum(at, &line[..LINE_CHECK]) == line[LINE_CHECK];
    ensure(same, || {
        Error::damaged(format!("a hash map is damaged: its line at {at} is"))
    })
}

/// Returns empty lines from an offset on.
pub(super) fn empty_lines(at: u64, bytes: u64) -> Vec<u64> {
    let mut words = vec![0; (bytes / WORD_BYTES) as usize];
    let places = (at..).step_by(LINE_BYTES as usize);
    for (at, line) in places.zip(words.chunks_mut(LINE_WORDS)) {
        seal_line(at, line);
    }
    words
}

/// Makes lines that are all empty.
///
/// # Errors
///
/// The pool is full, or a fence failed.
pub(super) fn make_lines<S: Sink>(sink: &mut S, bytes: u64) -> Result<u64> {
    match sink.pool().geometry.checksums {
        false => sink.make(&Contents::Zeros(bytes)),
        true => sink.make(&Contents::Placed(bytes, &|at| empty_lines(at, bytes))),
    }
}

impl Table {
    /// Changes a word of a line.
    pub fn set_in_line<S: Sink>(&self, sink: &mut S, line: u64, at: u64, word: u64) -> Result<()> {
        if self.shape.checked {
            let mut words = sink.words::<LINE_WORDS>(line)?;
            words[((at - line) / WORD_BYTES) as usize] = word;
            seal_line(line, &mut words);
            sink.set(line + LINE_CHECK as u64 * WORD_BYTES, words[LINE_CHECK])?;
        }
        sink.set(at, word)
    }

    /// Stores the checks of the table, after its words were changed.
    pub fn seal<S: Sink>(&self, sink: &mut S) -> Result<()> {
        if !self.shape.checked {
            return Ok(());
        }
        let words = sink.words::<TABLE_WORDS>(self.at)?;
        for (i, check) in (HEAD_CHECK..).zip(table_checks(self.at, &words)) {
            if words[i] != check {
                sink.set(self.at + i as u64 * WORD_BYTES, check)?;
            }
        }
        Ok(())
    }

    /// Checks the table before its words are read or changed.
    ///
    /// # Errors
    ///
    /// It is damaged.
    pub fn expect(&self, source: &impl Source) -> Result<()> {
        match self.shape.checked {
            true => expect_table(self.at, &source.words(self.at)?),
            false => Ok(()),
        }
    }

    /// Returns the check of a page of the directory, and where it is.
    fn page_check(&self, source: &impl Source, page: u64) -> Result<(u64, u64)> {
        let mut words = vec![0; (self.shape.page_bytes() / WORD_BYTES) as usize];
        source.load(page, &mut words)?;
        Ok((checksum(page, &words), page + self.shape.page_bytes()))
    }

    /// Checks a page of the directory.
    ///
    /// # Errors
    ///
    /// It is damaged.
    pub fn expect_page(&self, source: &impl Source, page: u64) -> Result<()> {
        if !self.shape.checked {
            return Ok(());
        }
        let (check, at) = self.page_check(source, page)?;
        ensure(source.word(at)? == check, || {
            Error::damaged(format!("a hash map is damaged: its page at {page} is"))
        })
    }

    /// Stores the check of a page, after its words were changed.
    pub fn seal_page<S: Sink>(&self, sink: &mut S, page: u64) -> Result<()> {
        if !self.shape.checked {
            return Ok(());
        }
        let (check, at) = self.page_check(sink, page)?;
        sink.set(at, check)
    }

    /// Makes a page of the directory.
    pub fn make_page<S: Sink>(&self, sink: &mut S, words: &[u64]) -> Result<u64> {
        match self.shape.checked {
            false => sink.make_words(words),
            true => sink.make(&Contents::Checked(&[bytemuck::cast_slice(words)])),
        }
    }
}

/// Makes an overflow line of these words.
pub(super) fn make_line<S: Sink>(sink: &mut S, words: &[u64; LINE_WORDS]) -> Result<u64> {
    match sink.pool().geometry.checksums {
        false => sink.make_words(words),
        true => sink.make(&Contents::Placed(LINE_BYTES, &|at| {
            let mut words = words.to_vec();
            seal_line(at, &mut words);
            words
        })),
    }
}
