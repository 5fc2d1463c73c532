//! How transactions begin and end, and become part of each other.

use std::cell::RefCell;
use std::mem;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::lane::stamp::Stamp;
use crate::medium::Medium;

use super::in_place::InPlace;
use super::{Shared, Transaction, ended};

thread_local! {
    /// The transactions of this thread that are no part of others: of which heap, and a [`Shared`].
    static ACTIVE: RefCell<Vec<(u64, *const ())>> = const { RefCell::new(Vec::new()) };
}

impl<M: Medium> Heap<M> {
    /// Begins a transaction of this thread: what is changed through it happens at
    /// [`Transaction::commit`], durably, wholly or not at all, with one fence for all. If it is
    /// dropped before, nothing has happened.
    ///
    /// If this thread has one of the same heap under way, the new one is part of it and ends with it:
    /// committed, it happens when the other one is; dropped before, it has that one fail, too.
    ///
    /// ```
    /// use terrace_heap::{Heap, Result};
    ///
    /// fn main() -> Result<()> {
    ///     let heap = Heap::anonymous(1 << 20)?;
    ///     let (from, to) = (heap.root::<u64>("from", 0)?, heap.root::<u64>("to", 0)?);
    ///     let accounts = [heap.publish(from, &100)?, heap.publish(to, &0)?];
    ///
    ///     let tx = heap.begin()?;
    ///     tx.set(accounts[0], tx.read(accounts[0])? - 30)?;
    ///     tx.set(accounts[1], tx.read(accounts[1])? + 30)?;
    ///     assert_eq!(heap.read(accounts[1])?, 0);
    ///     tx.commit()?;
    ///     assert_eq!(heap.read(accounts[1])?, 30);
    ///
    ///     let tx = heap.begin()?;
    ///     tx.set(accounts[0], 0)?;
    ///     drop(tx);
    ///     assert_eq!(heap.read(accounts[0])?, 70);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// None does.
    pub fn begin(&self) -> Result<Transaction<'_, M>> {
        Ok(self.join().unwrap_or_else(|| self.start(Rc::default())))
    }

    /// As [`Heap::begin`], but objects are changed in place at once, and their old contents kept
    /// until the commit. Two fences, and one for each change. A part of another transaction does as
    /// that one does.
    ///
    /// # Errors
    ///
    /// There is no room for the log, or a fence failed.
    pub fn begin_in_place(&self) -> Result<Transaction<'_, M>> {
        if let Some(part) = self.join() {
            return Ok(part);
        }
        let shared = Rc::<Shared>::default();
        shared.state.borrow_mut().in_place = Some(InPlace::begin(self.core())?);
        Ok(self.start(shared))
    }

    /// Has `work` change things, durably, wholly or not at all: if it fails or panics, nothing has
    /// happened. One fence, whatever it changes.
    ///
    /// Within `work` a transaction of the same heap is part of the first one; if it fails, all
    /// fails.
    ///
    /// # Errors
    ///
    /// What `work` returns; a nested transaction failed; there is no room for the log, or a fence
    /// failed.
    pub fn transaction<R, E: From<Error>>(
        &self,
        work: impl FnOnce(&Transaction<M>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.begin()?.carry(work)
    }

    /// As [`Heap::transaction`], in place as by [`Heap::begin_in_place`].
    ///
    /// # Errors
    ///
    /// As [`Heap::transaction`]; what is changed is more than the log holds.
    pub fn transaction_in_place<R, E: From<Error>>(
        &self,
        work: impl FnOnce(&Transaction<M>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.begin_in_place()?.carry(work)
    }

    /// Whether this thread is within a transaction of this heap.
    pub fn in_transaction(&self) -> bool {
        self.active().is_some()
    }

    /// Refuses to do what is no part of a transaction while one is under way.
    ///
    /// # Errors
    ///
    /// One is.
    pub(crate) fn expect_no_transaction(&self, what: &str) -> Result<()> {
        match self.in_transaction() {
            false => Ok(()),
            true => Err(Error::usage(format!(
                "within a transaction {what} can only be changed by a batch"
            ))),
        }
    }

    /// Refuses to begin a batch while a transaction is under way.
    ///
    /// # Errors
    ///
    /// One is.
    pub(crate) fn expect_batch(&self) -> Result<()> {
        match self.in_transaction() {
            false => Ok(()),
            true => Err(Error::usage(
                "a batch is a transaction of its own; what else is to happen with it goes through \
                 Batch::transaction",
            )),
        }
    }

    fn active(&self) -> Option<*const ()> {
        ACTIVE.with_borrow(|active| {
            let of_this = active.iter().find(|(heap, _)| *heap == self.id());
            of_this.map(|&(_, shared)| shared)
        })
    }

    /// A part of the transaction of this heap that this thread has under way.
    fn join(&self) -> Option<Transaction<'_, M>> {
        let shared = self.active()?.cast::<Shared>();
        // SAFETY: no other heap has this one's number, and what is listed is not freed: it is taken
        // off the list when it ends, and if it is leaked it never ends. Lanes to which it refers
        // belong to this heap, which is borrowed.
        let shared = unsafe {
            Rc::increment_strong_count(shared);
            Rc::from_raw(shared)
        };
        shared.parts.set(shared.parts.get() + 1);
        Some(Transaction {
            heap: self,
            shared,
            nested: true,
            committed: false,
        })
    }

    fn start<'h>(&'h self, shared: Rc<Shared<'h>>) -> Transaction<'h, M> {
        let listed = (self.id(), Rc::as_ptr(&shared).cast());
        ACTIVE.with_borrow_mut(|active| active.push(listed));
        Transaction {
            heap: self,
            shared,
            nested: false,
            committed: false,
        }
    }
}

impl<M: Medium> Transaction<'_, M> {
    /// Has everything happen, durably. A part of another transaction happens with that one.
    ///
    /// # Errors
    ///
    /// A part of it was dropped, or has not ended; it is a part of one that has ended; what is freed
    /// is no object, there is no room for the log, or a fence failed. Then nothing has happened.
    pub fn commit(self) -> Result<()> {
        self.commit_over(&[]).map(drop)
    }

    /// As [`Transaction::commit`] by a lane that takes over from these operations ([`Held::take_over`]);
    /// says by which operation, if it has changed anything and is no part of another.
    ///
    /// [`Held::take_over`]: crate::lane::Held::take_over
    ///
    /// # Errors
    ///
    /// As [`Transaction::commit`].
    pub(crate) fn commit_over(mut self, last: &[Stamp]) -> Result<Option<Stamp>> {
        let done = match self.nested {
            false => {
                self.expect_whole()?;
                self.state()?.commit(self.heap.core(), last)?
            }
            true if self.shared.ended.get() => return Err(ended()),
            true => None,
        };
        self.committed = true;
        Ok(done)
    }

    /// Whether all parts have ended well.
    fn expect_whole(&self) -> Result<()> {
        let parts = self.shared.parts.get();
        if self.shared.doomed.get() {
            let failed = "a nested transaction failed, so all of it did";
            return Err(Error::usage(failed));
        }
        match parts {
            0 => Ok(()),
            _ => Err(Error::usage(
                "a nested transaction has not ended, so all of it failed",
            )),
        }
    }

    fn carry<R, E: From<Error>>(
        self,
        work: impl FnOnce(&Self) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let done = work(&self)?;
        self.commit()?;
        Ok(done)
    }

    /// Takes back all that was not committed.
    fn undo(&self) {
        let mut state = mem::take(&mut *self.shared.state.borrow_mut());
        for object in mem::take(&mut state.new).into_keys() {
            state.give_back(self.heap.core(), object);
        }
        if let Some(in_place) = state.in_place {
            in_place.roll_back(&self.heap.core().space);
        }
    }
}

impl<M: Medium> Drop for Transaction<'_, M> {
    /// Undoes what was not committed.
    fn drop(&mut self) {
        let shared = &self.shared;
        if self.nested {
            shared.parts.set(shared.parts.get() - 1);
            shared.doomed.set(shared.doomed.get() || !self.committed);
            return;
        }
        shared.ended.set(true);
        let this = Rc::as_ptr(shared).cast();
        // A thread that ends may have lost its list already.
        let _ = ACTIVE.try_with(|active| active.borrow_mut().retain(|&(_, other)| other != this));
        self.undo();
    }
}
