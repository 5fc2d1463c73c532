//! Iterators over the elements of a queue.

use std::marker::PhantomData;

use crate::error::Result;
use crate::medium::Medium;
use crate::transaction::Transaction;

use super::super::container::Reader;
use super::super::data::Value;
use super::Queue;
use super::log::{Log, Place};

/// An iterator over the elements of a queue; see [`Queue::iter`].
pub struct Iter<'q, T: ?Sized, M: Medium> {
    from: Reader<'q, Log, M>,
    next: Option<Place>,
    /// Whether an error was returned: nothing follows one.
    failed: bool,
    of: PhantomData<fn(&T)>,
}

impl<'q, T: Value + ?Sized, M: Medium> Iter<'q, T, M> {
    pub(super) fn new(queue: &'q Queue<T, M>, tx: Option<&'q Transaction<'q, M>>) -> Self {
        Self {
            from: queue.log.reader(tx),
            next: None,
            failed: false,
            of: PhantomData,
        }
    }

    fn advance(&mut self) -> Result<Option<T::Owned>> {
        let found = self.from.read(0, |from| from.get::<T>(from, self.next))?;
        Ok(found.map(|(value, next)| {
            self.next = Some(next);
            value
        }))
    }
}

impl<T: Value + ?Sized, M: Medium> Iterator for Iter<'_, T, M> {
    type Item = Result<T::Owned>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let found = self.advance();
        self.failed = found.is_err();
        found.transpose()
    }
}
