//! Many changes of a vector as one transaction.

use bytemuck::Pod;

use crate::error::Result;
use crate::medium::Medium;
use crate::ptr::Ptr;
use crate::transaction::{Hint, Transaction};

use super::table::{directory_at, len_at};
use super::{Source, Vector};

/// Changes of a vector that happen together; see [`Vector::batch`].
pub struct Batch<'b, 'h, T, M: Medium> {
    vector: &'b Vector<T, M>,
    tx: &'b Transaction<'h, M>,
}

impl<T: Pod, M: Medium> Vector<T, M> {
    /// Has `work` change the vector, durably, wholly or not at all, with one fence for all. Nobody
    /// else can use the vector meanwhile.
    ///
    /// Within a transaction that goes on afterwards it must be the last use of the vector: others
    /// do not see it before the outer one commits.
    ///
    /// # Errors
    ///
    /// What `work` returns; the vector is damaged, there is no room, or a fence failed.
    pub fn batch<R>(&self, work: impl FnOnce(&Batch<T, M>) -> Result<R>) -> Result<R> {
        let _writing = self.write();
        self.heap
            .transaction(|tx| work(&Batch { vector: self, tx }))
    }
}

impl<T: Pod, M: Medium> Batch<'_, '_, T, M> {
    /// Elements that there are, with what this batch has changed.
    ///
    /// # Errors
    ///
    /// None does.
    pub fn len(&self) -> Result<u64> {
        self.tx.get(len_at(self.vector.table))
    }

    /// Whether there are none.
    ///
    /// # Errors
    ///
    /// None does.
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// An element; none beyond the last one.
    ///
    /// # Errors
    ///
    /// The vector is damaged.
    pub fn get(&self, index: u64) -> Result<Option<T>> {
        self.vector.get_from(self.tx, index)
    }

    /// Gives an element another value.
    ///
    /// # Errors
    ///
    /// There is no such element, or the vector is damaged.
    pub fn set(&self, index: u64, value: &T) -> Result<()> {
        let at = self.vector.existing(self.tx, index)?;
        self.store(at, value)
    }

    /// Adds an element behind the last one.
    ///
    /// # Errors
    ///
    /// There is no room, or the vector is damaged.
    pub fn push(&self, value: &T) -> Result<()> {
        let vector = self.vector;
        let len = self.len()?;
        vector.check_room(len)?;
        let segment = vector.shape.position(len).segment;
        let destination = directory_at(vector.table, segment);
        if self.tx.get::<u64>(destination)? == 0 {
            let zeros = vec![0; vector.segment_bytes(segment) as usize];
            let made = self.tx.alloc_bytes(&zeros)?;
            self.tx.set(Ptr::at(destination), made)?;
        }
        self.store(vector.at(self.tx, len)?, value)?;
        self.set_len(len + 1)
    }

    /// Removes the last element, and says what it was.
    ///
    /// # Errors
    ///
    /// The vector is damaged.
    pub fn pop(&self) -> Result<Option<T>> {
        let Some(last) = self.len()?.checked_sub(1) else {
            return Ok(None);
        };
        let value = self.get(last)?;
        self.set_len(last)?;
        Ok(value)
    }

    /// Removes all elements from this one on.
    ///
    /// # Errors
    ///
    /// None does.
    pub fn truncate(&self, len: u64) -> Result<()> {
        match len < self.len()? {
            true => self.set_len(len),
            false => Ok(()),
        }
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.tx.set(Ptr::at(len_at(self.vector.table)), len)
    }

    fn store(&self, at: u64, value: &T) -> Result<()> {
        self.tx
            .write_bytes(at, bytemuck::bytes_of(value), Hint::BySize)
    }
}
