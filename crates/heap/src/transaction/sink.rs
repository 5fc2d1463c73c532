//! A transaction as a source of words and a sink for changes.

use crate::error::Result;
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
        Ok(self.shared.glance.may_hold(offset, len))
    }

    #[inline]
    fn is_changed_near(&self, offset: u64, len: u64) -> Result<bool> {
        self.expect_usable()?;
        Ok(self.shared.glance.may_hold_near(offset, len))
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
                self.shared.glance.add(at, WORD_BYTES);
                state.writes.set(at, word);
            }
        }
        Ok(())
    }

    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        self.fill(at, &[bytemuck::cast_slice(words)])
    }

    fn fill(&mut self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let len = padded_len(parts);
        self.pool().check(at, len, "a transaction")?;
        self.touch();
        let mut state = self.state()?;
        let is_new = self.change_new(&mut state, at, len);
        if !is_new && len > 0 {
            self.shared.glance.add(at, len);
        }
        let mut to = at;
        for part in parts {
            match is_new {
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
