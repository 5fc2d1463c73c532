//! Iterators over the elements of a queue.

use crate::error::Result;
use crate::medium::Medium;
use crate::transaction::Transaction;

use super::super::data::Value;
use super::Queue;
use super::log::Place;

/// An iterator over the elements of a queue; see [`Queue::iter`].
pub struct Iter<'q, T: ?Sized, M: Medium> {
    queue: &'q Queue<T, M>,
    /// The transaction in which it reads, if any.
    tx: Option<&'q Transaction<'q, M>>,
    next: Option<Place>,
    /// Whether an error was returned: nothing follows one.
    failed: bool,
}

impl<'q, T: Value + ?Sized, M: Medium> Iter<'q, T, M> {
    pub(super) fn of_queue(queue: &'q Queue<T, M>) -> Self {
        Self {
            queue,
            tx: None,
            next: None,
            failed: false,
        }
    }

    pub(super) fn of_transaction(tx: &'q Transaction<'q, M>, queue: &'q Queue<T, M>) -> Self {
        Self {
            tx: Some(tx),
            ..Self::of_queue(queue)
        }
    }

    fn advance(&mut self) -> Result<Option<T::Owned>> {
        let log = &self.queue.log;
        let found = match self.tx {
            Some(tx) => log.get::<T>(&tx, self.next)?,
            None => self.queue.read(|pool| log.get::<T>(pool, self.next))?,
        };
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
