//! Heaps with checksums of contents, and what can be read of damaged ones.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;

use terrace_heap::salvage::{Extent, salvage};
use terrace_heap::{Error, Result};

use crate::error::status;
use crate::text;

/// Decodes one of `enum nvm_checksums`.
///
/// # Errors
///
/// It is none.
pub fn checksums(of: c_int) -> Result<Option<bool>> {
    match of {
        0 => Ok(None),
        1 => Ok(Some(true)),
        2 => Ok(Some(false)),
        _ => Err(Error::usage(format!("{of} is none of enum nvm_checksums"))),
    }
}

/// # Safety
///
/// `path` and `to` are null or strings; `extent` is null or points to a number; `report` is null or
/// may be called with a string and `argument`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_salvage(
    path: *const c_char,
    to: *const c_char,
    of: c_int,
    extent: *mut c_int,
    report: Option<unsafe extern "C" fn(*const c_char, *mut c_void)>,
    argument: *mut c_void,
) -> c_int {
    status(|| {
        // SAFETY: promised by the caller.
        let (path, to): (&Path, &Path) = unsafe { (text::path(path)?, text::path(to)?) };
        let salvaged = salvage(path, to, checksums(of)?)?;
        for finding in &salvaged.findings {
            let sentence = CString::new(finding.to_string().replace('\0', " ")).unwrap_or_default();
            if let Some(report) = report {
                // SAFETY: promised by the caller; the string lives until the call returns.
                unsafe { report(sentence.as_ptr(), argument) };
            }
        }
        if !extent.is_null() {
            let number = match salvaged.extent() {
                Extent::All => 0,
                Extent::Nothing => 2,
                _ => 1,
            };
            // SAFETY: promised by the caller.
            unsafe { extent.write(number) };
        }
        Ok(())
    })
}
