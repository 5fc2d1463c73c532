//! A transaction as a source of words and a sink for changes.

use crate::error::Result;
use crate::lane::window::Range;
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;
use crate::ptr::Ptr;
use crate::sink::{Contents, Sink, Source, padded_len};

use super::Transaction;

impl<M: Medium> Source for &Transaction<'_, M> {
    type Medium = M;

    fn pool(&self) -> &Pool<M> {
        &self.heap.core().space.pool
    }

    fn is_changed(&self) -> Result<bool> {
        self.expect_usable().map(|()| true)
    }

    #[inline]
    fn is_changed_at(&self, offset: u64, len: u64) -> Result<bool> {
        self.expect_usable()?;
        Ok(self.shared.may_have_written(offset, len))
    }

    #[inline]
    fn is_changed_near(&self, offset: u64, len: u64) -> bool {
        let glance = self.shared.glance.as_ref();
        glance.is_none_or(|glance| glance.may_hold_near(offset, len))
    }

    fn overlay(&self, offset: u64, loaded: &mut [u64]) {
        self.shared.state.borrow().writes.overlay(offset, loaded);
    }
}

impl<M: Medium> Sink for &Transaction<'_, M> {
    fn set(&mut self, at: u64, word: u64) -> Result<()> {
        self.pool().check(at, WORD_BYTES, "a transaction")?;
        self.touch();
        let mut state = self.state()?;
        match self.change_new(&mut state, at, WORD_BYTES) {
            true => self.pool().store_words(at, &[word]),
            false => {
                self.shared.note_written(at, WORD_BYTES);
                state.writes.set(at, word);
            }
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
        let at_once = is_new || free && self.may_fill(range);
        if !is_new && at_once {
            self.heap.core().expect_objects(range)?;
            match state.fills.last_mut() {
                Some(last) if last.offset + last.len == at => last.len += range.len,
                _ => state.fills.push(range),
            }
        }
        if !at_once && range.len > 0 {
            self.shared.note_written(at, range.len);
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
