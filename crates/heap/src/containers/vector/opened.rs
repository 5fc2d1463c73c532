//! A vector within a transaction.

use bytemuck::Pod;

use crate::error::Result;
use crate::medium::Medium;
use crate::transaction::Transaction;

use super::super::emptying::empty;
use super::super::identity::Identity;
use super::Vector;

/// A vector within a transaction; see [`Transaction::open`]. The transaction holds all of it until
/// it ends.
pub struct Opened<'t, T, M: Medium> {
    pub(super) of: &'t Vector<T, M>,
    pub(super) tx: &'t Transaction<'t, M>,
}

impl<T: Pod + Identity, M: Medium> Opened<'_, T, M> {
    /// Returns the number of elements.
    ///
    /// # Errors
    ///
    /// The transaction has ended.
    pub fn len(&self) -> Result<u64> {
        self.of.elements.len(&self.tx)
    }

    /// Returns whether it is empty.
    ///
    /// # Errors
    ///
    /// The transaction has ended.
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Returns an element; `None` beyond the last one.
    ///
    /// # Errors
    ///
    /// The vector is damaged.
    pub fn get(&self, index: u64) -> Result<Option<T>> {
        self.of.elements.get(&self.tx, index)
    }

    /// Sets the value of an element.
    ///
    /// # Errors
    ///
    /// There is no such element, or the vector is damaged.
    pub fn set(&self, index: u64, value: &T) -> Result<()> {
        let elements = &self.of.elements;
        self.tx.change(|sink| elements.set(sink, index, value))
    }

    /// Adds an element behind the last one.
    ///
    /// # Errors
    ///
    /// The pool is full, or the vector is damaged.
    pub fn push(&self, value: &T) -> Result<()> {
        let elements = &self.of.elements;
        self.tx.change(|sink| elements.push(sink, value))
    }

    /// Removes the last element and returns it.
    ///
    /// # Errors
    ///
    /// The vector is damaged.
    pub fn pop(&self) -> Result<Option<T>> {
        self.tx.change(|sink| self.of.elements.pop(sink))
    }

    /// Removes all elements from index `len` on.
    ///
    /// # Errors
    ///
    /// The transaction has ended.
    pub fn truncate(&self, len: u64) -> Result<()> {
        let elements = &self.of.elements;
        self.tx.change(|sink| elements.truncate(sink, len))
    }

    /// Removes all elements, and frees their segments.
    ///
    /// # Errors
    ///
    /// The transaction has ended.
    pub fn clear(&self) -> Result<()> {
        self.tx.change(|sink| empty(&*self.of.elements, sink))
    }

    /// Returns an iterator over the elements in their order. Each is read when its turn comes.
    pub fn iter(&self) -> impl Iterator<Item = Result<T>> {
        (0..).map_while(|index| self.get(index).transpose())
    }
}
