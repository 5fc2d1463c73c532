//! The last failure of each thread, and how failures are returned.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use terrace_base::Result;
use terrace_base::error::Kind;

/// `enum terrace_status`.
const OK: c_int = 0;
const USAGE: c_int = 1;
const FAILURE: c_int = 2;
const PANIC: c_int = 3;

thread_local! {
    /// The sentence and the status of the last failure.
    static LAST: RefCell<(CString, c_int)> = RefCell::default();
}

/// Runs `work`; a failure or a panic is remembered and becomes a status.
fn attempt<R>(work: impl FnOnce() -> Result<R>) -> std::result::Result<R, c_int> {
    let (status, sentence) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(error)) => {
            let status = match error.kind {
                Kind::Usage => USAGE,
                Kind::Failure => FAILURE,
            };
            (status, error.to_string())
        }
        Err(_) => (PANIC, "the library has a bug, and panicked".to_owned()),
    };
    let sentence = CString::new(sentence).unwrap_or_default();
    // A thread that ends may have lost it already.
    let _ = LAST.try_with(|last| *last.borrow_mut() = (sentence, status));
    Err(status)
}

/// Runs a call that returns a status.
pub fn status(work: impl FnOnce() -> Result<()>) -> c_int {
    attempt(work).map_or_else(|status| status, |()| OK)
}

/// Runs a call that returns a pointer, or `NULL` on failure.
pub fn pointer<T>(work: impl FnOnce() -> Result<*mut T>) -> *mut T {
    attempt(work).unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub extern "C" fn terrace_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().0.as_ptr())
        .unwrap_or(c"".as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn terrace_error_status() -> c_int {
    LAST.try_with(|last| last.borrow().1).unwrap_or(OK)
}
