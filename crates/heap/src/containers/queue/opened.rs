//! A queue within a transaction.

use std::sync::Arc;

use crate::error::Result;
use crate::heap::Heap;
use crate::medium::Medium;
use crate::transaction::Transaction;
use crate::transaction::held::Guarded;

use super::super::container::{Container, sealed};
use super::super::data::Value;
use super::Queue;
use super::iter::Iter;

/// A queue within a transaction; see [`Transaction::open`]. The transaction holds all of it until it
/// ends.
pub struct Opened<'t, T: ?Sized, M: Medium> {
    queue: &'t Queue<T, M>,
    tx: &'t Transaction<'t, M>,
}

impl<T: ?Sized, M: Medium> sealed::Sealed for Queue<T, M> {}

impl<T: Value + ?Sized, M: Medium> Container<M> for Queue<T, M> {
    type Opened<'t>
        = Opened<'t, T, M>
    where
        Self: 't,
        M: 't;

    fn heap(&self) -> &Heap<M> {
        &self.heap
    }

    fn open_in<'t>(&'t self, tx: &'t Transaction<'_, M>) -> Result<Opened<'t, T, M>> {
        let of: Arc<dyn Guarded<M>> = Arc::clone(&self.log) as _;
        tx.hold(&of, 0)?;
        Ok(Opened { queue: self, tx })
    }
}

impl<'t, T: Value + ?Sized, M: Medium> Opened<'t, T, M> {
    /// Returns the number of elements.
    ///
    /// # Errors
    ///
    /// The transaction has ended.
    pub fn len(&self) -> Result<u64> {
        self.queue.log.len(&self.tx)
    }

    /// Returns whether it is empty.
    ///
    /// # Errors
    ///
    /// The transaction has ended.
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Adds an element at the back.
    ///
    /// # Errors
    ///
    /// The pool is full, or the queue is damaged.
    pub fn push(&self, value: &T) -> Result<()> {
        let bytes = value.encode()?;
        self.tx.change(|sink| self.queue.log.push(sink, &bytes))
    }

    /// Removes the element at the front and returns it.
    ///
    /// # Errors
    ///
    /// The queue is damaged.
    pub fn pop(&self) -> Result<Option<T::Owned>> {
        self.tx.change(|sink| self.queue.log.pop::<T, _>(sink))
    }

    /// Returns the element at the front.
    ///
    /// # Errors
    ///
    /// The queue is damaged.
    pub fn front(&self) -> Result<Option<T::Owned>> {
        self.iter().next().transpose()
    }

    /// Returns an iterator over the elements from the front to the back. Each is read when its turn
    /// comes.
    pub fn iter(&self) -> Iter<'t, T, M> {
        Iter::of_transaction(self.tx, self.queue)
    }
}
