//! Strings and bytes of the caller, checked as far as they can be.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{ptr, slice};

use terrace_heap::{Error, Result};

use crate::error::{NONE, OK, SHORT};

/// # Safety
///
/// `of` is null, or a string that ends with a zero and lives as long as `'s`.
unsafe fn string<'s>(of: *const c_char, what: &str) -> Result<&'s CStr> {
    match of.is_null() {
        true => Err(Error::usage(format!("{what} is NULL"))),
        // SAFETY: promised by the caller.
        false => Ok(unsafe { CStr::from_ptr(of) }),
    }
}

/// # Safety
///
/// Same as for `string`.
pub unsafe fn path<'s>(of: *const c_char) -> Result<&'s Path> {
    // SAFETY: promised by the caller.
    let path = unsafe { string(of, "the path")? };
    Ok(Path::new(OsStr::from_bytes(path.to_bytes())))
}

/// # Safety
///
/// Same as for `string`.
pub unsafe fn name<'s>(of: *const c_char) -> Result<&'s str> {
    // SAFETY: promised by the caller.
    let name = unsafe { string(of, "the name")? };
    let sentence = || format!("the name of a root must be UTF-8, and {name:?} is not");
    name.to_str().map_err(|_| Error::usage(sentence()))
}

/// # Safety
///
/// `at` is null, or `len` bytes lie there that nothing changes as long as `'s`.
pub unsafe fn bytes<'s>(at: *const c_void, len: usize) -> Result<&'s [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    check(at, len)?;
    // SAFETY: promised by the caller; it is not null, and not longer than memory can be.
    Ok(unsafe { slice::from_raw_parts(at.cast(), len) })
}

/// # Safety
///
/// `at` is null, or `len` bytes lie there that nothing else uses as long as `'s`.
pub unsafe fn bytes_mut<'s>(at: *mut c_void, len: usize) -> Result<&'s mut [u8]> {
    check(at, len)?;
    // SAFETY: promised by the caller; it is not null, and not longer than memory can be. Whatever
    // the bytes are, they are valid.
    Ok(unsafe { slice::from_raw_parts_mut(at.cast(), len) })
}

fn check(at: *const c_void, len: usize) -> Result<()> {
    if at.is_null() {
        return Err(Error::usage("the bytes lie at NULL"));
    }
    let too_long = |_| Error::usage(format!("no {len} bytes fit into memory"));
    isize::try_from(len).map(drop).map_err(too_long)
}

/// Returns the number of the caller at an address.
///
/// # Safety
///
/// `at` is null, or a number that nothing else uses as long as `'s`.
pub unsafe fn number<'s>(at: *mut u64) -> Result<&'s mut u64> {
    // SAFETY: promised by the caller.
    unsafe { at.as_mut() }.ok_or_else(|| Error::usage("the number lies at NULL"))
}

/// The caller's buffer for bytes that are read, and where their number goes.
pub struct Buffer {
    into: *mut u8,
    room: usize,
    len: *mut usize,
}

impl Buffer {
    /// # Safety
    ///
    /// `into` is null, or `room` bytes of the caller are there; `len` is null, or points to a
    /// number of the caller. Nothing else uses them as long as the buffer lives.
    pub unsafe fn new(into: *mut c_void, room: usize, len: *mut usize) -> Result<Self> {
        if len.is_null() {
            return Err(Error::usage("the length lies at NULL"));
        }
        if room > 0 {
            check(into, room)?;
        }
        let into = into.cast();
        Ok(Self { into, room, len })
    }

    /// Returns whether there is room for a number of bytes.
    pub fn has_room(&self, bytes: usize) -> bool {
        bytes <= self.room
    }

    /// Stores how many bytes were found, and copies them if there is room.
    pub fn fill(&self, found: Option<&[u8]>) -> c_int {
        let bytes = found.unwrap_or_default();
        // SAFETY: promised to `new`.
        unsafe { self.len.write(bytes.len()) };
        if !self.has_room(bytes.len()) {
            return SHORT;
        }
        if !bytes.is_empty() {
            // SAFETY: promised to `new`; there is room.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.into, bytes.len()) };
        }
        found.map_or(NONE, |_| OK)
    }
}
