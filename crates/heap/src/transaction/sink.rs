//! A transaction as a source of words and a sink for changes.

use crate::checksum::padded;
use crate::error::Result;
use crate::medium::{Medium, WORD_BYTES};
use crate::ptr::Ptr;
use crate::sink::{Contents, Sink, Source};

use super::Transaction;

impl<M: Medium> Source for Transaction<'_, M> {
    fn load(&self, offset: u64, into: &mut [u64]) -> Result<()> {
        let state = self.state()?;
        self.pool().load(offset, into)?;
        state.writes.overlay(offset, into);
        Ok(())
    }

    fn load_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let mut words = vec![0; into.len().div_ceil(8)];
        self.load(offset, &mut words)?;
        into.copy_from_slice(&bytemuck::cast_slice(&words)[..into.len()]);
        Ok(())
    }

    fn prefetch(&self, offset: u64, len: u64) {
        self.pool().prefetch(offset, len);
    }

    fn bytes(&self) -> u64 {
        self.pool().bytes()
    }
}

impl<M: Medium> Source for &Transaction<'_, M> {
    fn load(&self, offset: u64, into: &mut [u64]) -> Result<()> {
        (**self).load(offset, into)
    }

    fn load_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        (**self).load_bytes(offset, into)
    }

    fn prefetch(&self, offset: u64, len: u64) {
        (**self).prefetch(offset, len);
    }

    fn bytes(&self) -> u64 {
        (**self).bytes()
    }
}

impl<M: Medium> Sink for &Transaction<'_, M> {
    fn set(&mut self, at: u64, word: u64) -> Result<()> {
        self.pool().check(at, WORD_BYTES, "a transaction")?;
        self.touch();
        let mut state = self.state()?;
        match state.is_new(at, WORD_BYTES) {
            true => self.pool().store_words(at, &[word]),
            false => state.writes.set(at, word),
        }
        Ok(())
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
