//! A vector within a transaction.

use std::sync::Arc;

use bytemuck::Pod;

use crate::error::Result;
use crate::heap::Heap;
use crate::medium::Medium;
use crate::transaction::Transaction;
use crate::transaction::held::Guarded;

use super::super::container::{Container, sealed};
use super::Vector;

/// A vector within a transaction; see [`Transaction::open`]. The transaction holds all of it until it
/// ends.
pub struct Opened<'t, T, M: Medium> {
    vector: &'t Vector<T, M>,
    tx: &'t Transaction<'t, M>,
}

impl<T, M: Medium> sealed::Sealed for Vector<T, M> {}

impl<T: Pod, M: Medium> Container<M> for Vector<T, M> {
    type Opened<'t>
        = Opened<'t, T, M>
    where
        Self: 't,
        M: 't;

    fn heap(&self) -> &Heap<M> {
        &self.heap
    }

    fn open_in<'t>(&'t self, tx: &'t Transaction<'_, M>) -> Result<Opened<'t, T, M>> {
        let of: Arc<dyn Guarded<M>> = Arc::clone(&self.elements) as _;
        tx.hold(&of, 0)?;
        Ok(Opened { vector: self, tx })
    }
}

impl<T: Pod, M: Medium> Opened<'_, T, M> {
    /// Returns the number of elements.
    ///
    /// # Errors
    ///
    /// The transaction has ended.
    pub fn len(&self) -> Result<u64> {
        self.vector.elements.len(&self.tx)
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
        self.vector.elements.get(&self.tx, index)
    }

    /// Sets the value of an element.
    ///
    /// # Errors
    ///
    /// There is no such element, or the vector is damaged.
    pub fn set(&self, index: u64, value: &T) -> Result<()> {
        let elements = &self.vector.elements;
        self.tx.change(|sink| elements.set(sink, index, value))
    }

    /// Adds an element behind the last one.
    ///
    /// # Errors
    ///
    /// The pool is full, or the vector is damaged.
    pub fn push(&self, value: &T) -> Result<()> {
        let elements = &self.vector.elements;
        self.tx.change(|sink| elements.push(sink, value))
    }

    /// Removes the last element and returns it.
    ///
    /// # Errors
    ///
    /// The vector is damaged.
    pub fn pop(&self) -> Result<Option<T>> {
        self.tx.change(|sink| self.vector.elements.pop(sink))
    }

    /// Removes all elements from index `len` on.
    ///
    /// # Errors
    ///
    /// The transaction has ended.
    pub fn truncate(&self, len: u64) -> Result<()> {
        let elements = &self.vector.elements;
        self.tx.change(|sink| elements.truncate(sink, len))
    }

    /// Returns an iterator over the elements in their order. Each is read when its turn comes.
    pub fn iter(&self) -> impl Iterator<Item = Result<T>> {
        (0..).map_while(|index| self.get(index).transpose())
    }
}
