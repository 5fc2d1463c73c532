//! Strings and bytes of the caller.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

use terrace_heap::{Error, Result};

/// # Safety
///
/// It is null or a string that ends with a zero and is there for as long as `'s`.
unsafe fn string<'s>(of: *const c_char, what: &str) -> Result<&'s CStr> {
    match of.is_null() {
        true => Err(Error::usage(format!("{what} is NULL"))),
        // SAFETY: the caller's.
        false => Ok(unsafe { CStr::from_ptr(of) }),
    }
}

/// # Safety
///
/// As of `string`.
pub unsafe fn path<'s>(of: *const c_char) -> Result<&'s Path> {
    // SAFETY: the caller's.
    let path = unsafe { string(of, "the path")? };
    Ok(Path::new(OsStr::from_bytes(path.to_bytes())))
}

/// # Safety
///
/// As of `string`.
pub unsafe fn name<'s>(of: *const c_char) -> Result<&'s str> {
    // SAFETY: the caller's.
    let name = unsafe { string(of, "the root's name")? };
    name.to_str()
        .map_err(|_| Error::usage(format!("a root's name is UTF-8, which {name:?} is not")))
}

/// # Safety
///
/// It is null, or so many bytes lie there that nobody changes for as long as `'s`.
pub unsafe fn bytes<'s>(at: *const c_void, len: usize) -> Result<&'s [u8]> {
    check(at, len)?;
    // SAFETY: the caller's; it is not null, and not longer than memory can be.
    Ok(unsafe { slice::from_raw_parts(at.cast(), len) })
}

/// # Safety
///
/// It is null, or so many bytes lie there that nobody else uses for as long as `'s`.
pub unsafe fn bytes_mut<'s>(at: *mut c_void, len: usize) -> Result<&'s mut [u8]> {
    check(at, len)?;
    // SAFETY: the caller's; it is not null, and not longer than memory can be. Whatever the bytes
    // are, they are valid.
    Ok(unsafe { slice::from_raw_parts_mut(at.cast(), len) })
}

fn check(at: *const c_void, len: usize) -> Result<()> {
    if at.is_null() {
        return Err(Error::usage("the bytes lie at NULL"));
    }
    match isize::try_from(len) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::usage(format!("no {len} bytes fit into memory"))),
    }
}
