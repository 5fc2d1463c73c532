//! Many changes of a queue as one transaction.

use bytemuck::Pod;

use crate::error::Result;
use crate::medium::Medium;
use crate::ptr::Ptr;
use crate::transaction::{Hint, Transaction};

use super::super::words::Source;
use super::{CAME_AT, FIRST_AT, GONE_AT, LAST_AT, Queue, damaged};

/// Changes of a queue that happen together; see [`Queue::batch`].
pub struct Batch<'b, 'h, T, M: Medium> {
    queue: &'b Queue<T, M>,
    tx: &'b Transaction<'h, M>,
}

impl<T: Pod, M: Medium> Queue<T, M> {
    /// Has `work` change the queue, durably, wholly or not at all, with one fence for all. Nobody
    /// else can use the queue meanwhile.
    ///
    /// # Errors
    ///
    /// What `work` returns; this thread is within a transaction of the heap already; the queue is
    /// damaged, there is no room, or a fence failed.
    pub fn batch<R>(&self, work: impl FnOnce(&Batch<T, M>) -> Result<R>) -> Result<R> {
        self.heap.expect_batch()?;
        let _writing = self.write();
        self.heap.transaction(|tx| work(&Batch { queue: self, tx }))
    }
}

impl<'h, T: Pod, M: Medium> Batch<'_, 'h, T, M> {
    /// The transaction, for what else is to happen together with the batch.
    pub fn transaction(&self) -> &Transaction<'h, M> {
        self.tx
    }

    /// Elements that there are, with what this batch has changed.
    ///
    /// # Errors
    ///
    /// None does.
    pub fn len(&self) -> Result<u64> {
        Ok(self.word(CAME_AT)?.saturating_sub(self.word(GONE_AT)?))
    }

    /// Whether there are none.
    ///
    /// # Errors
    ///
    /// None does.
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Adds an element at the back.
    ///
    /// # Errors
    ///
    /// There is no room, or the queue is damaged.
    pub fn push(&self, value: &T) -> Result<()> {
        let came = self.word(CAME_AT)?;
        let mut last = self.word(LAST_AT)?;
        if came.is_multiple_of(self.queue.slots) {
            last = self.segment_behind(last)?;
            self.set(LAST_AT, last)?;
        }
        if last == 0 {
            return Err(damaged());
        }
        let (at, bytes) = (self.queue.slot(last, came), bytemuck::bytes_of(value));
        self.tx.write_bytes(at, bytes, Hint::BySize)?;
        self.set(CAME_AT, came.checked_add(1).ok_or_else(damaged)?)
    }

    /// Removes the element at the front, and says what it was.
    ///
    /// # Errors
    ///
    /// The queue is damaged.
    pub fn pop(&self) -> Result<Option<T>> {
        let gone = self.word(GONE_AT)?;
        if gone >= self.word(CAME_AT)? {
            return Ok(None);
        }
        let first = self.word(FIRST_AT)?;
        let segment = self.queue.front_segment(self.tx, gone, first)?;
        let value = self.tx.get(self.queue.slot(segment, gone))?;
        self.set(GONE_AT, gone + 1)?;
        if segment != first {
            self.set(FIRST_AT, segment)?;
            self.tx.free(Ptr::<u8>::at(first))?;
        }
        Ok(Some(value))
    }

    /// The segment behind the last one; it is made if there is none.
    fn segment_behind(&self, last: u64) -> Result<u64> {
        let destination = match last {
            0 => self.queue.head + FIRST_AT,
            _ => last,
        };
        match self.tx.get(destination)? {
            0 => {
                let zeros = vec![0; self.queue.segment_bytes() as usize];
                let made = self.tx.alloc_bytes(&zeros)?;
                self.tx.set(Ptr::at(destination), made)?;
                Ok(made)
            }
            segment => Ok(segment),
        }
    }

    /// A word of the head.
    fn word(&self, at: u64) -> Result<u64> {
        self.tx.get(self.queue.head + at)
    }

    fn set(&self, at: u64, value: u64) -> Result<()> {
        self.tx.set(Ptr::at(self.queue.head + at), value)
    }
}
