//! The checks of a map whose pool has checksums: its table, its lines and the pages of its
//! directory are compared, and sealed after a change.

use crate::checksum::checksum;
use crate::error::{Error, Result, ensure};
use crate::medium::WORD_BYTES;
use crate::sink::{Contents, Sink, Source};

use super::layout::{LINE_WORDS, TABLE_WORDS};
use super::sums::{HEAD_CHECK, LINE_CHECK, expect_table, seal_line, table_checks};
use super::table::Table;

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
