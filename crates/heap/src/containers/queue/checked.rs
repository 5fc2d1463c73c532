//! The checks of a queue whose pool has checksums: its head, its segments and its elements are
//! compared.

use crate::checksum::{Checksum, checksum};
use crate::error::{Result, ensure};
use crate::medium::WORD_BYTES;
use crate::sink::{Sink, Source};

use super::layout::HEAD_WORDS;
use super::log::{Element, Log, damaged};
use super::sums::head_check;

impl Log {
    /// Returns the bytes of each check.
    #[inline]
    pub fn check_bytes(&self) -> u64 {
        WORD_BYTES * u64::from(self.part.checked)
    }

    /// Checks the head.
    ///
    /// # Errors
    ///
    /// It is damaged.
    #[inline]
    pub fn expect_head(&self, source: &impl Source) -> Result<()> {
        if !self.part.checked {
            return Ok(());
        }
        let head = source.words::<HEAD_WORDS>(self.head)?;
        ensure(head[1] == head_check(self.head, &head), damaged)
    }

    /// Stores the check of the head, after its words were changed.
    pub fn seal_head<S: Sink>(&self, sink: &mut S) -> Result<()> {
        if !self.part.checked {
            return Ok(());
        }
        let head = sink.words::<HEAD_WORDS>(self.head)?;
        sink.set(self.head + WORD_BYTES, head_check(self.head, &head))
    }

    /// Returns the next segment behind one, 0 if there is none, and its end.
    ///
    /// # Errors
    ///
    /// It is damaged.
    pub fn segment(&self, source: &impl Source, at: u64) -> Result<(u64, u64)> {
        if !self.part.checked {
            let [next, end] = source.words(at)?;
            return Ok((next, end));
        }
        let [next, end, check] = source.words(at)?;
        ensure(check == checksum(at, &[next, end]), damaged)?;
        Ok((next, end))
    }

    /// Stores the check of a segment, after its words were changed.
    pub fn seal_segment<S: Sink>(&self, sink: &mut S, at: u64) -> Result<()> {
        if !self.part.checked {
            return Ok(());
        }
        let words = sink.words::<2>(at)?;
        sink.set(at + 2 * WORD_BYTES, checksum(at, &words))
    }

    /// Stores the check of a mark in place of an element.
    pub fn seal_mark<S: Sink>(&self, sink: &mut S, at: u64, mark: u64) -> Result<()> {
        match self.part.checked {
            false => Ok(()),
            true => sink.set(at + WORD_BYTES, checksum(at, &[mark])),
        }
    }

    /// Checks a mark.
    ///
    /// # Errors
    ///
    /// It is none that was stored there.
    pub fn expect_mark(&self, source: &impl Source, at: u64, mark: u64) -> Result<()> {
        if !self.part.checked {
            return Ok(());
        }
        let check = source.word(at.saturating_add(WORD_BYTES))?;
        ensure(check == checksum(at, &[mark]), damaged)
    }

    /// Stores the check of an element, after its words were changed.
    pub fn seal_element<S: Sink>(&self, sink: &mut S, element: &Element) -> Result<()> {
        if !self.part.checked {
            return Ok(());
        }
        let (mut sum, at) = (Checksum::new(element.at), element.check_at());
        sink.add_to(&mut sum, element.at, at.saturating_sub(element.at))?;
        sink.set(at, sum.finish())
    }

    /// Checks an element.
    ///
    /// # Errors
    ///
    /// It is damaged.
    #[inline]
    pub fn expect_element(&self, source: &impl Source, element: &Element) -> Result<()> {
        if !self.part.checked {
            return Ok(());
        }
        let (mut sum, at) = (Checksum::new(element.at), element.check_at());
        source.add_to(&mut sum, element.at, at.saturating_sub(element.at))?;
        ensure(source.word(at)? == sum.finish(), damaged)
    }
}
