//! Containers as transactions open them.

use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::medium::Medium;
use crate::transaction::Transaction;

pub(super) mod sealed {
    /// Keeps other crates from writing containers.
    pub trait Sealed {}
}

/// A container that a transaction can open ([`Transaction::open`]).
pub trait Container<M: Medium>: sealed::Sealed {
    /// The container within a transaction.
    type Opened<'t>
    where
        Self: 't,
        M: 't;

    /// Returns the heap of the container.
    fn heap(&self) -> &Heap<M>;

    /// Returns what [`Transaction::open`] returns.
    ///
    /// # Errors
    ///
    /// Same as [`Transaction::open`].
    #[doc(hidden)]
    fn open_in<'t>(&'t self, tx: &'t Transaction<'_, M>) -> Result<Self::Opened<'t>>;
}

impl<'h, M: Medium> Transaction<'h, M> {
    /// Opens a container within this transaction: changes through it happen with the transaction, and
    /// reads see them before. No other thread uses the container, or the part of it that was used, until
    /// the transaction has ended.
    ///
    /// # Errors
    ///
    /// The container is of another heap; the transaction has ended; an older transaction holds the
    /// container ([`Cause::Again`](crate::Cause::Again)), and [`Heap::transaction`] tries again by
    /// itself when the closure returns.
    pub fn open<'t, C: Container<M>>(&'t self, container: &'t C) -> Result<C::Opened<'t>>
    where
        'h: 't,
    {
        if container.heap().id() != self.heap().id() {
            return Err(Error::usage(
                "a transaction opens containers of its own heap, and this one is of another",
            ));
        }
        container.open_in(self)
    }
}
