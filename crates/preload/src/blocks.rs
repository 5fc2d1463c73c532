//! What `malloc` and its like have in common, whichever library does them.

use std::ffi::c_void;

/// Changes the size of a block to that of an array, by the program's `realloc`, which may be
/// another one than this library's.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    number: usize,
    size: usize,
) -> *mut c_void {
    match number.checked_mul(size) {
        // SAFETY: the caller's promises.
        Some(bytes) => unsafe { libc::realloc(block, bytes) },
        None => {
            // SAFETY: the thread's own number.
            unsafe { *libc::__errno_location() = libc::ENOMEM };
            std::ptr::null_mut()
        }
    }
}
