//! A transaction as a source of words and a sink for changes.

use crate::checksum::padded;
use crate::error::Result;
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;
use crate::ptr::Ptr;
use crate::sink::{Contents, Sink, Source};

use super::Transaction;

impl<M: Medium> Source for &Transaction<'_, M> {
    type Medium = M;

    fn pool(&self) -> &Pool<M> {
        &self.heap.core().space.pool
    }

    fn is_changed(&self) -> Result<bool> {
        self.state().map(|_| true)
    }

    #[inline]
    fn is_changed_at(&self, offset: u64, len: u64) -> Result<bool> {
        self.state()
            .map(|state| state.writes.may_touch(offset, len))
    }

    fn overlay(&self, offset: u64, loaded: &mut [u64]) {
        self.shared.state.borrow().writes.overlay(offset, loaded);
    }
}

impl<M: Medium> Sink for &Transaction<'_, M> {
    fn set(&mut self, at: u64, word: u64) -> Result<()> {
        self.write(at, &[word])
    }

    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        let len = words.len() as u64 * WORD_BYTES;
        self.pool().check(at, len, "a transaction")?;
        self.touch();
        let mut state = self.state()?;
        match state.is_new(at, len) {
            true => self.pool().store_words(at, words),
            false if words.len() == 1 => state.writes.set(at, words[0]),
            false => state.writes.write(at, words),
        }
        Ok(())
    }

    fn fill(&mut self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let mut words = Vec::new();
        for part in parts {
            words.extend(part.chunks(8).map(padded));
        }
        self.write(at, &words)
    }

    fn make(&mut self, contents: &Contents) -> Result<u64> {
        self.make_object(contents)
    }

    fn free(&mut self, object: u64) -> Result<()> {
        Transaction::free(self, Ptr::<u8>::at(object))
    }
}
