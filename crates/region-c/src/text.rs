//! Strings of the caller.

use std::ffi::{CStr, c_char};

use terrace_base::{Error, Result};

/// Returns a string; `None` for a null pointer.
///
/// # Safety
/// `of` is null, or a string that ends with a zero and lives as long as `'s`.
pub unsafe fn string<'s>(of: *const c_char, what: &str) -> Result<Option<&'s str>> {
    if of.is_null() {
        return Ok(None);
    }
    // SAFETY: promised by the caller.
    let text = unsafe { CStr::from_ptr(of) };
    let sentence = |_| Error::usage(format!("{what} must be UTF-8, and {text:?} is not"));
    text.to_str().map(Some).map_err(sentence)
}
