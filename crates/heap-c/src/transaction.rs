//! Transactions, and changes that are part of them.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use terrace_heap::{Error, Hint, Ptr, Result, Transaction};

use crate::error::{OK, outcome, status};
use crate::handle::Handle;
use crate::registry::{find, on};
use crate::stack::{Open, in_transaction, pop, push, take, within};
use crate::text;

#[unsafe(no_mangle)]
pub extern "C" fn nvm_begin(heap: *mut Handle) -> c_int {
    status(|| Open::new(find(heap)?, false).map(push))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_commit(heap: *mut Handle) -> c_int {
    status(|| pop(heap)?.end(Transaction::commit))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_abort(heap: *mut Handle) -> c_int {
    status(|| pop(heap).map(|open| open.end(drop)))
}

/// The work of a transaction; returns 0 on success.
type Work = unsafe extern "C" fn(heap: *mut Handle, argument: *mut c_void) -> c_int;

/// Why a transaction of `nvm_transaction` has not happened.
enum Failed {
    /// The work returned this.
    Work(c_int),
    Heap(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Heap(error)
    }
}

/// Runs `work` within a new transaction on this thread's stack.
fn carry(handle: &Arc<Handle>, work: impl FnOnce() -> c_int) -> std::result::Result<(), Failed> {
    let open = Open::new(Arc::clone(handle), true)?;
    let number = open.number;
    push(open);
    let said = work();
    let (open, left) = take(number);
    if said == 0 && left.is_empty() {
        return Ok(open.end(Transaction::commit)?);
    }
    // The innermost first.
    left.into_iter().rev().for_each(|open| open.end(drop));
    open.end(drop);
    match said {
        0 => Err(Failed::Heap(Error::usage(
            "the work returned while a transaction that it had begun was still under way, so all of it \
             was undone",
        ))),
        said => Err(Failed::Work(said)),
    }
}

/// # Safety
///
/// `work` is null or a function that can be called with `argument`, and returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_transaction(
    heap: *mut Handle,
    work: Option<Work>,
    argument: *mut c_void,
) -> c_int {
    outcome(on(heap, |handle| {
        let work = work.ok_or_else(|| Error::usage("the work is NULL"))?;
        // SAFETY: promised by the caller.
        let call = || unsafe { work(heap, argument) };
        match handle.heap.transaction(|_| carry(&handle, call)) {
            Ok(()) => Ok(OK),
            Err(Failed::Work(said)) => Ok(said),
            Err(Failed::Heap(error)) => Err(error),
        }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_set_word(heap: *mut Handle, at: *mut u64, value: u64) -> c_int {
    status(in_transaction(heap, |handle, tx| {
        tx.set(word(handle, at)?, value)
    }))
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
    status(on(heap, |handle| {
        let offset = handle.offset(at)?;
        let hint = match hint {
            0 => Hint::BySize,
            1 => Hint::Words,
            2 => Hint::Object,
            other => return Err(Error::usage(format!("there is no hint {other}"))),
        };
        // SAFETY: promised by the caller.
        let value = unsafe { text::bytes(value, len)? };
        within(&handle, |tx| tx.write_bytes(offset, value, hint))
    }))
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
    status(on(heap, |handle| {
        let offset = handle.offset(at)?;
        // SAFETY: promised by the caller.
        let into = unsafe { text::bytes_mut(into, len)? };
        within(&handle, |tx| tx.read_bytes(offset, into))
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_persist(heap: *mut Handle, at: *const c_void, len: usize) -> c_int {
    let persist = |handle: Arc<Handle>| handle.heap.persist(handle.offset(at)?, len as u64);
    status(on(heap, persist))
}

/// Returns the word of the heap at an address.
///
/// # Errors
///
/// The address lies elsewhere, or is not a multiple of 8.
pub fn word<T>(handle: &Handle, at: *mut u64) -> Result<Ptr<T>> {
    let offset = handle.offset(at.cast())?;
    if !offset.is_multiple_of(8) {
        return Err(Error::usage(format!(
            "{at:?} is not the address of a word: it is no multiple of 8"
        )));
    }
    Ok(Ptr::at(offset))
}
