//! A transaction as a source of words and a sink for changes.

use crate::error::Result;
use crate::lane::window::Range;
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;
use crate::ptr::Ptr;
use crate::sink::{Contents, Sink, Source, padded_len};

use super::{Transaction, ended};

impl<M: Medium> Source for &Transaction<'_, M> {
    type Medium = M;

    fn pool(&self) -> &Pool<M> {
        &self.heap.core().space.pool
    }

    fn is_changed(&self) -> Result<bool> {
        self.expect_under_way().map(|()| true)
    }

    #[inline]
    fn is_changed_at(&self, offset: u64, len: u64) -> Result<bool> {
        self.expect_usable()?;
        let state = self.shared.state.borrow();
        let state = state.as_ref().ok_or_else(ended)?;
        Ok(state.writes.may_hold(offset, len))
    }

    #[inline]
    fn is_changed_near(&self, offset: u64, len: u64) -> bool {
        let state = self.shared.state.borrow();
        let state = state.as_ref();
        state.is_none_or(|state| state.writes.may_hold_any(offset, len))
    }

    fn overlay(&self, offset: u64, loaded: &mut [u64]) {
        if let Some(state) = &*self.shared.state.borrow() {
            state.writes.overlay(offset, loaded);
        }
    }

    #[inline]
    fn word(&self, offset: u64) -> Result<u64> {
        self.expect_usable()?;
        let state = self.shared.state.borrow();
        let state = state.as_ref().ok_or_else(ended)?;
        if let Some(word) = state.writes.word(offset) {
            return Ok(word);
        }
        self.pool().check(offset, WORD_BYTES, "a container")?;
        Ok(self.pool().medium.load_word(offset))
    }
}

impl<M: Medium> Sink for &Transaction<'_, M> {
    fn set(&mut self, at: u64, word: u64) -> Result<()> {
        self.pool().check(at, WORD_BYTES, "a transaction")?;
        self.touch();
        let mut state = self.state()?;
        match self.change_new(&mut state, at, WORD_BYTES) {
            true => self.pool().store_words(at, &[word]),
            false => state.writes.set(at, word),
        }
        Ok(())
    }

    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        self.fill(at, &[bytemuck::cast_slice(words)], false)
    }

    fn fill(&mut self, at: u64, parts: &[&[u8]], free: bool) -> Result<()> {
        let range = Range::new(at, padded_len(parts));
        self.pool().check(at, range.len, "a transaction")?;
        self.touch();
        let mut state = self.state()?;
        let is_new = self.change_new(&mut state, at, range.len);
        let at_once = is_new || free && self.may_fill(&mut state, range);
        if !is_new && at_once {
            self.heap.core().expect_objects(range)?;
            match state.changes.fills.last_mut() {
                Some((last, _)) if last.offset + last.len == at => last.len += range.len,
                _ => state.changes.fills.push((range, None)),
            }
        }
        let mut to = at;
        for part in parts {
            match at_once {
                true => self.pool().store_padded(to, part),
                false => state.writes.fill(to, part),
            }
            to += part.len().next_multiple_of(8) as u64;
        }
        Ok(())
    }

    fn make(&mut self, contents: &Contents) -> Result<u64> {
        self.make_object(contents)
    }

    fn free(&mut self, object: u64) -> Result<()> {
        Transaction::free(self, Ptr::<u8>::at(object))
    }
}
