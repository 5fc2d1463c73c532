//! A queue within a transaction.

use crate::error::Result;
use crate::medium::Medium;
use crate::transaction::Transaction;

use super::super::data::Value;
use super::super::emptying::empty;
use super::Queue;
use super::iter::Iter;

/// A queue within a transaction; see [`Transaction::open`]. The transaction holds all of it until
/// it ends.
pub struct Opened<'t, T: ?Sized, M: Medium> {
    pub(super) of: &'t Queue<T, M>,
    pub(super) tx: &'t Transaction<'t, M>,
}

impl<'t, T: Value + ?Sized, M: Medium> Opened<'t, T, M> {
    /// Returns the number of elements.
    ///
    /// # Errors
    ///
    /// The transaction has ended.
    pub fn len(&self) -> Result<u64> {
        self.of.log.len(&self.tx)
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
        self.tx.change(|sink| self.of.log.push(sink, &bytes))
    }

    /// Removes the element at the front and returns it.
    ///
    /// # Errors
    ///
    /// The queue is damaged.
    pub fn pop(&self) -> Result<Option<T::Owned>> {
        self.tx.change(|sink| self.of.log.pop::<T, _>(sink))
    }

    /// Removes all elements, at the commit. The transaction has a place in the log for each object.
    ///
    /// # Errors
    ///
    /// The queue is damaged.
    pub fn clear(&self) -> Result<()> {
        self.tx.change(|sink| empty(&*self.of.log, sink))
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
        Iter::new(self.of, Some(self.tx))
    }
}
