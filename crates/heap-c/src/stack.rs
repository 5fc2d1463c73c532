//! The transactions that each thread has under way, with the cursors that end with them.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use terrace_heap::containers::Container as Opening;
use terrace_heap::{Error, Heap, Mapped, Result, Transaction};

use crate::container::Container;
use crate::cursor::Cursor;
use crate::handle::Handle;
use crate::registry::{self, find, on};

/// A transaction that was begun.
pub struct Open {
    /// The number by which [`take`] finds it.
    pub number: usize,
    /// Dropped before the transaction: fields are dropped in this order.
    cursors: Vec<(usize, Cursor)>,
    /// Shared with the cursors only.
    tx: Rc<Transaction<'static, Mapped>>,
    handle: Arc<Handle>,
    /// Whether `nvm_transaction` has begun it, and ends it.
    of_call: bool,
}

/// The transactions of a thread, the innermost last.
#[derive(Default)]
struct Stack(Vec<Open>);

thread_local! {
    static STACK: RefCell<Stack> = RefCell::default();
}

impl Drop for Stack {
    /// Aborts what the ending thread has not committed. The thread-local state that the heap needs
    /// for that may be gone already; then recovery does it when the heap is opened next.
    fn drop(&mut self) {
        while let Some(open) = self.0.pop() {
            let _ = catch_unwind(AssertUnwindSafe(|| open.end(drop)));
        }
    }
}

impl Stack {
    /// Returns the index of the innermost transaction of a heap.
    fn last_of(&self, handle: &Arc<Handle>) -> Option<usize> {
        let of_this = |open: &Open| Arc::ptr_eq(&open.handle, handle);
        self.0.iter().rposition(of_this)
    }
}

impl Open {
    /// Begins a transaction.
    ///
    /// # Errors
    ///
    /// The heap was closed.
    pub fn new(handle: Arc<Handle>, of_call: bool) -> Result<Self> {
        // SAFETY: the handle is not moved nor freed while this has its share of it, and the
        // transaction is dropped before that, and never leaves this thread.
        let heap: &'static Heap = unsafe { &*std::ptr::from_ref(&handle.heap) };
        let tx = Rc::new(heap.begin()?);
        handle.open.fetch_add(1, Ordering::AcqRel);
        Ok(Self {
            number: registry::number(),
            cursors: Vec::new(),
            tx,
            handle,
            of_call,
        })
    }

    /// Ends the transaction by `end`, which commits or drops it.
    pub fn end<R>(self, end: impl FnOnce(Transaction<'static, Mapped>) -> R) -> R {
        drop(self.cursors);
        let tx = Rc::into_inner(self.tx).expect("only its cursors share it");
        let ended = end(tx);
        self.handle.open.fetch_sub(1, Ordering::AcqRel);
        ended
    }
}

/// Puts a transaction on this thread's stack.
pub fn push(open: Open) {
    STACK.with_borrow_mut(|stack| stack.0.push(open));
}

/// Takes the innermost transaction of a heap off this thread's stack.
///
/// # Errors
///
/// There is none, or `nvm_transaction` has begun it.
pub fn pop(heap: *mut Handle) -> Result<Open> {
    let handle = find(heap)?;
    STACK.with_borrow_mut(|stack| {
        let none = || Error::usage("this thread has no transaction of the heap under way");
        let last = stack.last_of(&handle).ok_or_else(none)?;
        match stack.0[last].of_call {
            false => Ok(stack.0.remove(last)),
            true => Err(Error::usage(
                "nvm_transaction ends its transaction by itself, when the work returns",
            )),
        }
    })
}

/// Takes a transaction off the stack, with the later ones that are part of it.
pub fn take(number: usize) -> (Open, Vec<Open>) {
    STACK.with_borrow_mut(|stack| {
        let at = stack.0.iter().position(|open| open.number == number);
        let mut after = stack.0.split_off(at.expect("only this takes it off"));
        let open = after.remove(0);
        let of_this = |other: &Open| Arc::ptr_eq(&other.handle, &open.handle);
        let (left, others) = after.into_iter().partition(of_this);
        stack.0.extend::<Vec<Open>>(others);
        (open, left)
    })
}

/// Calls `work` with this thread's transaction of a heap, if it has one. A failure leaves the
/// transaction as it was.
pub fn current<R>(handle: &Arc<Handle>, work: impl FnOnce(Option<&Transaction<Mapped>>) -> R) -> R {
    STACK.with_borrow(|stack| {
        let last = stack.last_of(handle);
        work(last.map(|last| &*stack.0[last].tx))
    })
}

/// Calls `work` with this thread's transaction of a heap, or with a new one that ends with the
/// call.
pub fn within<R>(
    handle: &Arc<Handle>,
    mut work: impl FnMut(&Transaction<Mapped>) -> Result<R>,
) -> Result<R> {
    current(handle, |tx| match tx {
        Some(tx) => work(tx),
        None => handle.heap.transaction(work),
    })
}

/// Returns a call of `work` with an open heap, and with this thread's transaction of it or a new
/// one that ends with the call.
pub fn in_transaction<R>(
    heap: *const Handle,
    mut work: impl FnMut(&Handle, &Transaction<Mapped>) -> Result<R>,
) -> impl FnOnce() -> Result<R> {
    on(heap, move |handle| within(&handle, |tx| work(&handle, tx)))
}

impl<C: Opening<Mapped>> Container<C> {
    /// Calls `within` in this thread's transaction of the heap, or `alone` if it has none.
    ///
    /// # Errors
    ///
    /// What the called closure returns; an older transaction holds the container.
    pub fn either<R>(
        &self,
        alone: impl FnOnce(&C) -> Result<R>,
        within: impl FnOnce(C::Opened<'_>) -> Result<R>,
    ) -> Result<R> {
        current(&self.handle, |tx| match tx {
            Some(tx) => within(tx.open(&self.container)?),
            None => alone(&self.container),
        })
    }
}

/// Opens a cursor within this thread's transaction of a heap, with which it ends; returns its
/// number, or `None` if there is no transaction.
pub fn open_cursor(
    handle: &Arc<Handle>,
    open: impl FnOnce(Rc<Transaction<'static, Mapped>>) -> Result<Cursor>,
) -> Option<Result<usize>> {
    STACK.with_borrow_mut(|stack| {
        let last = stack.last_of(handle)?;
        let of = &mut stack.0[last];
        let opened = open(Rc::clone(&of.tx));
        Some(opened.map(|cursor| {
            let number = registry::number();
            of.cursors.push((number, cursor));
            number
        }))
    })
}

/// Calls `work` with a cursor of this thread's transactions; `None` if no cursor there has the
/// number.
pub fn with_cursor<R>(number: usize, work: impl FnOnce(&mut Cursor) -> R) -> Option<R> {
    STACK.with_borrow_mut(|stack| {
        let mut cursors = stack.0.iter_mut().flat_map(|open| &mut open.cursors);
        let found = cursors.find(|(other, _)| *other == number);
        found.map(|(_, cursor)| work(cursor))
    })
}

/// Closes a cursor of this thread's transactions; returns whether one has the number.
pub fn close_cursor(number: usize) -> bool {
    STACK.with_borrow_mut(|stack| {
        let mut cursors = stack.0.iter_mut().map(|open| &mut open.cursors);
        cursors.any(|cursors| {
            let of_number = |(other, _): &mut (usize, Cursor)| *other == number;
            cursors.extract_if(.., of_number).next().is_some()
        })
    })
}
