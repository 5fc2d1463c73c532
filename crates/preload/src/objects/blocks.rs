//! `malloc` and its like, of the next library, whose blocks are objects.

use std::ffi::{c_int, c_void};

use super::report::{allocated, ending, freed, is_large, is_reporting};
use crate::symbol::next;

/// Whether a block may have been reported.
///
/// # Safety
/// The block is one of the next library's `malloc`, or null.
unsafe fn may_be_reported(block: *mut c_void) -> bool {
    // SAFETY: the caller's promise.
    is_reporting() && !block.is_null() && is_large(unsafe { usable_size(block) })
}

/// Returns the bytes of a block.
///
/// # Safety
/// The block is one of the next library's `malloc`.
unsafe fn usable_size(block: *mut c_void) -> usize {
    next!(malloc_usable_size: fn(*mut c_void) -> usize, (block))
}

/// Looks up what a block that is freed needs. A look-up that fails leaves a message behind, which
/// the next look-up frees: it must not be one for `free`.
pub fn prepare() {
    // SAFETY: a block of the next library, which is freed once.
    unsafe {
        let block = malloc(1);
        usable_size(block);
        free(block);
    }
}

/// Allocates a block.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    let block = next!(malloc: fn(usize) -> *mut c_void, (size));
    allocated(block, size);
    block
}

/// Allocates a block of zeros.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn calloc(number: usize, size: usize) -> *mut c_void {
    let block = next!(calloc: fn(usize, usize) -> *mut c_void, (number, size));
    allocated(block, number.saturating_mul(size));
    block
}

/// Changes the size of a block, which is another object then.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    let was_large = unsafe { may_be_reported(block) };
    if was_large {
        ending(block);
    }
    let made = next!(realloc: fn(*mut c_void, usize) -> *mut c_void, (block, size));
    if was_large && (size == 0 || !made.is_null()) {
        freed(block);
    }
    allocated(made, size);
    made
}

/// Frees a block.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn free(block: *mut c_void) {
    // Reported first: another thread may get the block next, and report that.
    // SAFETY: the caller's promise.
    if unsafe { may_be_reported(block) } {
        ending(block);
        freed(block);
    }
    next!(free: fn(*mut c_void) -> (), (block));
}

/// Allocates an aligned block.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    let block = next!(memalign: fn(usize, usize) -> *mut c_void, (alignment, size));
    allocated(block, size);
    block
}

/// Allocates an aligned block.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    let block = next!(aligned_alloc: fn(usize, usize) -> *mut c_void, (alignment, size));
    allocated(block, size);
    block
}

/// Allocates an aligned block, and returns an error number or 0.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn posix_memalign(
    block: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> c_int {
    let error = next!(
        posix_memalign: fn(*mut *mut c_void, usize, usize) -> c_int, (block, alignment, size)
    );
    if error == 0 {
        // SAFETY: the next library has just written it.
        allocated(unsafe { *block }, size);
    }
    error
}

/// Allocates a block that is aligned to a page.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    let block = next!(valloc: fn(usize) -> *mut c_void, (size));
    allocated(block, size);
    block
}
