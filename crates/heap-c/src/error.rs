//! The last failure of each thread, and how failures are returned.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use terrace_heap::{Cause, Error, Result};

/// `enum nvm_status`.
pub const OK: c_int = 0;
const USAGE: c_int = 1;
const FULL: c_int = 2;
const DAMAGED: c_int = 3;
const SYSTEM: c_int = 4;
const PANIC: c_int = 5;
const AGAIN: c_int = 6;
pub const NONE: c_int = 7;
pub const SHORT: c_int = 8;
const NEWER: c_int = 9;
const OPEN: c_int = 10;

thread_local! {
    /// The sentence and the status of the last failure.
    static LAST: RefCell<(CString, c_int)> = RefCell::default();
}

/// Runs `work`; a failure or a panic is remembered and becomes a status.
fn attempt<R>(work: impl FnOnce() -> Result<R>) -> std::result::Result<R, c_int> {
    let (code, sentence) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(error)) => (code(&error), error.to_string()),
        Err(_) => (PANIC, "the heap has a bug, and panicked".to_owned()),
    };
    let sentence = CString::new(sentence.replace('\0', " ")).unwrap_or_default();
    // A thread that ends may have lost it already.
    let _ = LAST.try_with(|last| *last.borrow_mut() = (sentence, code));
    Err(code)
}

fn code(error: &Error) -> c_int {
    match error.cause() {
        Cause::Usage => USAGE,
        Cause::Full => FULL,
        Cause::Damaged => DAMAGED,
        Cause::Again => AGAIN,
        Cause::Newer => NEWER,
        Cause::Open => OPEN,
        _ => SYSTEM,
    }
}

/// Runs a call that returns a status.
pub fn status(work: impl FnOnce() -> Result<()>) -> c_int {
    attempt(work).map_or_else(|code| code, |()| OK)
}

/// Runs a call that returns a status of its own on success.
pub fn outcome(work: impl FnOnce() -> Result<c_int>) -> c_int {
    attempt(work).unwrap_or_else(|code| code)
}

/// Runs a call that returns a pointer, or `NULL` on failure.
pub fn pointer<T>(work: impl FnOnce() -> Result<*mut T>) -> *mut T {
    attempt(work).unwrap_or(ptr::null_mut())
}

/// Runs a call that returns a number, or 0 on failure.
pub fn number(work: impl FnOnce() -> Result<u64>) -> u64 {
    attempt(work).unwrap_or(0)
}

/// Returns a sentence about the last failure of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn nvm_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().0.as_ptr())
        .unwrap_or(c"".as_ptr())
}

/// Returns the status of the last failure of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn nvm_error_status() -> c_int {
    LAST.try_with(|last| last.borrow().1).unwrap_or(OK)
}
