//! What went wrong last in each thread, and how it is returned.

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

thread_local! {
    /// A sentence, and what it is about.
    static LAST: RefCell<(CString, c_int)> = RefCell::default();
}

/// Does something, and says how it went.
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
        _ => SYSTEM,
    }
}

/// For functions that return a status.
pub fn status(work: impl FnOnce() -> Result<()>) -> c_int {
    attempt(work).map_or_else(|code| code, |()| OK)
}

/// For functions that return what they found as well.
pub fn outcome(work: impl FnOnce() -> Result<c_int>) -> c_int {
    attempt(work).unwrap_or_else(|code| code)
}

/// For functions that return a pointer, or `NULL`.
pub fn pointer<T>(work: impl FnOnce() -> Result<*mut T>) -> *mut T {
    attempt(work).unwrap_or(ptr::null_mut())
}

/// For functions that return a number, or 0.
pub fn number(work: impl FnOnce() -> Result<u64>) -> u64 {
    attempt(work).unwrap_or(0)
}

/// A sentence about the last failure of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn nvm_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().0.as_ptr())
        .unwrap_or(c"".as_ptr())
}

/// The status of the last failure of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn nvm_error_status() -> c_int {
    LAST.try_with(|last| last.borrow().1).unwrap_or(OK)
}
