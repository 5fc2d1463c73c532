//! The transactions of each thread, and changes that are part of them.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use terrace_heap::{Error, Heap, Hint, Mapped, Ptr, Result, Transaction};

use crate::error::status;
use crate::handle::{Handle, handle};
use crate::text;

/// A transaction that was begun.
struct Open {
    /// Ends before the heap may be closed: fields are dropped in this order.
    tx: Transaction<'static, Mapped>,
    handle: Arc<Handle>,
}

/// Those of a thread, the innermost last.
#[derive(Default)]
struct Stack(Vec<Open>);

thread_local! {
    static STACK: RefCell<Stack> = RefCell::default();
}

impl Drop for Stack {
    /// A thread that ends aborts what it has not committed. What the heap needs for that may be gone
    /// already; then the next to open it does so.
    fn drop(&mut self) {
        while let Some(open) = self.0.pop() {
            let _ = catch_unwind(AssertUnwindSafe(|| open.end(drop)));
        }
    }
}

impl Open {
    fn new(handle: Arc<Handle>) -> Result<Self> {
        // SAFETY: the handle is not moved nor freed while this has its share of it, and the
        // transaction is dropped before that, and never leaves this thread.
        let heap: &'static Heap = unsafe { &*std::ptr::from_ref(&handle.heap) };
        let tx = heap.begin()?;
        handle.open.fetch_add(1, Ordering::AcqRel);
        Ok(Self { tx, handle })
    }

    fn end<R>(self, end: impl FnOnce(Transaction<'static, Mapped>) -> R) -> R {
        let Self { tx, handle } = self;
        let ended = end(tx);
        handle.open.fetch_sub(1, Ordering::AcqRel);
        ended
    }
}

/// The innermost transaction of a heap that this thread has begun, off its stack.
fn pop(heap: *mut Handle) -> Result<Open> {
    let handle = handle(heap)?;
    let open = STACK.with_borrow_mut(|stack| {
        let of_this = |open: &Open| Arc::ptr_eq(&open.handle, &handle);
        let last = stack.0.iter().rposition(of_this)?;
        Some(stack.0.remove(last))
    });
    open.ok_or_else(|| Error::usage("this thread has no transaction of the heap under way"))
}

/// Does something within this thread's transaction, or in one of its own.
pub fn within<R>(
    handle: &Arc<Handle>,
    mut work: impl FnMut(&Transaction<Mapped>) -> Result<R>,
) -> Result<R> {
    STACK.with_borrow(|stack| {
        let of_this = |open: &&Open| Arc::ptr_eq(&open.handle, handle);
        match stack.0.iter().rev().find(of_this) {
            // What fails here leaves the transaction as it was.
            Some(open) => work(&open.tx),
            None => handle.heap.transaction(work),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_begin(heap: *mut Handle) -> c_int {
    status(|| {
        let open = Open::new(handle(heap)?)?;
        STACK.with_borrow_mut(|stack| stack.0.push(open));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_commit(heap: *mut Handle) -> c_int {
    status(|| pop(heap)?.end(Transaction::commit))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_abort(heap: *mut Handle) -> c_int {
    status(|| {
        pop(heap)?.end(drop);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_set_word(heap: *mut Handle, at: *mut u64, value: u64) -> c_int {
    status(|| {
        let handle = handle(heap)?;
        let at = word(&handle, at)?;
        within(&handle, |tx| tx.set(at, value))
    })
}

/// # Safety
///
/// `value` is null, or `len` bytes lie there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_set(
    heap: *mut Handle,
    at: *mut c_void,
    value: *const c_void,
    len: usize,
    hint: c_int,
) -> c_int {
    status(|| {
        let handle = handle(heap)?;
        let offset = handle.offset(at)?;
        let hint = match hint {
            0 => Hint::BySize,
            1 => Hint::Words,
            2 => Hint::Object,
            other => return Err(Error::usage(format!("there is no hint {other}"))),
        };
        // SAFETY: the caller's.
        let value = unsafe { text::bytes(value, len)? };
        within(&handle, |tx| tx.write_bytes(offset, value, hint))
    })
}

/// # Safety
///
/// `into` is null, or `len` bytes lie there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_get(
    heap: *mut Handle,
    at: *const c_void,
    into: *mut c_void,
    len: usize,
) -> c_int {
    status(|| {
        let handle = handle(heap)?;
        let offset = handle.offset(at)?;
        // SAFETY: the caller's.
        let into = unsafe { text::bytes_mut(into, len)? };
        within(&handle, |tx| tx.read_bytes(offset, into))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_persist(heap: *mut Handle, at: *const c_void, len: usize) -> c_int {
    status(|| {
        let handle = handle(heap)?;
        handle.heap.persist(handle.offset(at)?, len as u64)
    })
}

/// A word of the heap.
pub fn word<T>(handle: &Handle, at: *mut u64) -> Result<Ptr<T>> {
    let offset = handle.offset(at.cast())?;
    match offset.is_multiple_of(8) {
        true => Ok(Ptr::at(offset)),
        false => Err(Error::usage(format!(
            "{at:?} is no word: it is not a multiple of 8"
        ))),
    }
}
