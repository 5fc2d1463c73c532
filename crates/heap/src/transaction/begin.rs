//! Beginning, ending and nesting of transactions.

use std::cell::{Cell, RefCell};
use std::mem;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Error, Result, ensure};
use crate::guard::{self, Age, Guard};
use crate::heap::Heap;
use crate::medium::Medium;

use super::held::Guarded;
use super::{Shared, State, Transaction, ended};

/// An outermost transaction of this thread.
struct Active {
    heap: u64,
    age: Age,
    /// Its [`Shared`].
    shared: *const (),
}

thread_local! {
    static ACTIVE: RefCell<Vec<Active>> = const { RefCell::new(Vec::new()) };
    /// The state of a transaction that has ended, for the next one.
    static SPARE: Cell<Option<Box<State>>> = const { Cell::new(None) };
}

/// Changes the list of this thread's transactions.
fn list(change: impl FnOnce(&mut Vec<Active>)) {
    // A thread that ends may have lost its list already.
    let _ = ACTIVE.try_with(|active| {
        let mut active = active.borrow_mut();
        change(&mut active);
        guard::set_oldest(active.iter().map(|active| active.age).min());
    });
}

impl<M: Medium> Heap<M> {
    /// Begins a transaction of this thread: changes through it happen at [`Transaction::commit`],
    /// durably, wholly or not at all, with one fence for all. Dropped before, it has changed
    /// nothing. [`Heap::transaction`] does all this around a closure, which suits most programs.
    ///
    /// If this thread has a transaction of the same heap under way, the new one is part of it and
    /// ends with it: committed, it happens with the outer one; dropped before, it makes the outer
    /// one fail, too.
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
    /// The heap was closed, or this is a child of the process that opened the heap.
    pub fn begin(&self) -> Result<Transaction<'_, M>> {
        self.expect_open()?;
        Ok(self.join().unwrap_or_else(|| self.start(Age::now())))
    }

    /// Carries out the changes of `work` durably, wholly or not at all: if it fails or panics,
    /// nothing has changed. One fence for all changes.
    ///
    /// No other thread sees or changes what it opens with [`Transaction::open`] until the end. Of
    /// two transactions that each want what the other one holds, the younger is given up and `work`
    /// is called again. So `work` should do nothing else that must happen only once.
    ///
    /// ```
    /// use terrace_heap::containers::{HashMap, Queue};
    /// use terrace_heap::{Heap, Result};
    ///
    /// fn main() -> Result<()> {
    ///     let heap = Heap::anonymous(4 << 20)?;
    ///     let accounts = HashMap::<str, u64>::open(&heap, "accounts")?;
    ///     let log = Queue::<str>::open(&heap, "log")?;
    ///     heap.transaction(|tx| {
    ///         tx.open(&accounts)?.insert("anna", &30)?;
    ///         tx.open(&log)?.push("anna was given 30")
    ///     })?;
    ///     assert_eq!(accounts.get("anna")?, Some(30));
    ///     Ok(())
    /// }
    /// ```
    ///
    /// Within `work` a transaction of the same heap is part of this one; if it fails, all fails.
    /// Meanwhile the heap's containers can be used only through the transaction, and refuse direct
    /// calls.
    ///
    /// # Errors
    ///
    /// What `work` returns; a nested transaction failed; a change of a container broke off half-way
    /// because the pool was full, and `work` went on; an older transaction holds a lock that this
    /// one needs while this thread is within a transaction of another heap
    /// ([`Cause::Again`](crate::Cause::Again)), which must be dropped and begun again; there is no
    /// room for the log, or a fence failed.
    pub fn transaction<R, E: From<Error>>(
        &self,
        mut work: impl FnMut(&Transaction<M>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.expect_open()?;
        if let Some(part) = self.join() {
            let done = work(&part)?;
            part.commit()?;
            return Ok(done);
        }
        let age = Age::now();
        loop {
            let tx = self.start(age);
            let done = work(&tx);
            let refused = tx.shared.guards.borrow_mut().refused.take();
            if let Some((of, number)) = refused {
                drop(tx);
                if guard::has_transaction() {
                    // That transaction holds guards of another heap, for which the older one may be
                    // waiting.
                    return Err(Error::again().into());
                }
                of.guard(number).wait_until_free();
                continue;
            }
            let done = done.or_else(|error| {
                // A missing page looks like damage.
                self.core().space.pool.medium.expect_there()?;
                Err(error)
            })?;
            tx.commit()?;
            return Ok(done);
        }
    }

    /// Returns whether this thread is within a transaction of this heap.
    pub fn in_transaction(&self) -> bool {
        guard::has_transaction() && self.active().is_some()
    }

    /// Checks that this thread is not within a transaction of this heap, through which it would
    /// have to work.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; the heap was closed, or belongs to the
    /// parent of this process.
    #[inline]
    pub(crate) fn expect_alone(&self) -> Result<()> {
        self.expect_open()?;
        match guard::has_transaction() {
            false => Ok(()),
            true => self.expect_no_transaction(),
        }
    }

    #[cold]
    fn expect_no_transaction(&self) -> Result<()> {
        ensure(self.active().is_none(), || {
            Error::usage(
                "this thread has a transaction of the heap under way; use what it opens \
                 (Transaction::open), or its own methods",
            )
        })
    }

    fn active(&self) -> Option<*const ()> {
        ACTIVE.with_borrow(|active| {
            let of_this = active.iter().find(|active| active.heap == self.id());
            of_this.map(|active| active.shared)
        })
    }

    /// Returns a nested part of this thread's transaction of this heap, if there is one.
    fn join(&self) -> Option<Transaction<'_, M>> {
        let shared = self.active()?.cast::<Shared<M>>();
        // SAFETY: no other heap has this one's number, and a listed transaction is not freed: it is
        // taken off the list when it ends, and if it is leaked it never ends.
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

    fn start(&self, age: Age) -> Transaction<'_, M> {
        let spare = SPARE.try_with(Cell::take).ok().flatten();
        let shared = Rc::new(Shared {
            age,
            state: RefCell::new(Some(spare.unwrap_or_default())),
            guards: RefCell::default(),
            parts: Cell::default(),
            doomed: Cell::default(),
            broken: Cell::default(),
            changes: Cell::default(),
        });
        let heap = self.id();
        let listed = Active {
            heap,
            age,
            shared: Rc::as_ptr(&shared).cast(),
        };
        list(|active| active.push(listed));
        Transaction {
            heap: self,
            shared,
            nested: false,
            committed: false,
        }
    }
}

impl<M: Medium> Transaction<'_, M> {
    /// Carries out all changes, durably. A part of another transaction happens with that one.
    ///
    /// # Errors
    ///
    /// A nested part was dropped, or has not ended; it is itself a part of a transaction that has
    /// ended; a change of a container broke off half-way; an older transaction held a lock that it
    /// needed ([`Cause::Again`](crate::Cause::Again)); an object to be freed does not exist, there
    /// is no room for the log, or a fence failed. Then nothing has changed.
    pub fn commit(mut self) -> Result<()> {
        match self.nested {
            false => {
                self.expect_whole()?;
                self.carry_out()?;
            }
            true if self.shared.state.borrow().is_none() => return Err(ended()),
            true => {}
        }
        self.committed = true;
        Ok(())
    }

    /// Checks that all nested parts have committed.
    fn expect_whole(&self) -> Result<()> {
        ensure(self.shared.guards.borrow().refused.is_none(), || {
            Error::again()
        })?;
        ensure(!self.shared.doomed.get(), || {
            Error::usage("a nested transaction failed, so all of it did")
        })?;
        ensure(self.shared.parts.get() == 0, || {
            Error::usage("a nested transaction has not ended, so all of it failed")
        })
    }

    /// Takes back everything that was not committed, and keeps the memory.
    fn undo(&mut self) {
        let Some(mut state) = self.shared.state.take() else {
            return;
        };
        let core = self.heap.core();
        if !state.new.is_empty() && self.heap.expect_open().is_ok() {
            let mut held = core.hold();
            for object in state.new.iter() {
                core.unmake(&mut held, object.offset);
            }
        }
        if state.is_small() {
            state.clear();
            // A thread that ends may have lost its place for it already.
            let _ = SPARE.try_with(|spare| spare.set(Some(state)));
        }
    }

    /// Holds a guard until the end: the one of this number of a container.
    ///
    /// # Errors
    ///
    /// The transaction has ended, or an older transaction holds the guard.
    #[inline]
    pub(crate) fn hold(
        &self,
        guard: &Guard,
        of: impl FnOnce() -> Arc<dyn Guarded<M>>,
        number: usize,
    ) -> Result<()> {
        self.expect_under_way()?;
        let shared = &self.shared;
        let mut guards = shared.guards.borrow_mut();
        match guards.holds(guard) {
            true => Ok(()),
            false => guards.hold(shared.age, guard, of(), number),
        }
    }

    /// Carries out a change of a container, which must not happen by half: if it fails after it has
    /// changed anything, the whole transaction fails.
    ///
    /// # Errors
    ///
    /// What `work` returns.
    pub(crate) fn change<R>(&self, work: impl FnOnce(&mut &Self) -> Result<R>) -> Result<R> {
        let before = self.changes();
        let done = work(&mut &*self);
        if done.is_err() && self.changes() != before {
            self.shared.broken.set(true);
        }
        done
    }
}

impl<M: Medium> Drop for Transaction<'_, M> {
    /// Undoes everything that was not committed.
    fn drop(&mut self) {
        let shared = &self.shared;
        if self.nested {
            shared.parts.set(shared.parts.get() - 1);
            shared.doomed.set(shared.doomed.get() || !self.committed);
            return;
        }
        let this = Rc::as_ptr(shared).cast();
        list(|active| active.retain(|other| other.shared != this));
        self.undo();
        drop(mem::take(&mut *self.shared.guards.borrow_mut()));
    }
}
