//! `malloc` and its like: the C library's own, whose large blocks are handed to extended memory,
//! and whose small ones come from a heap in extended memory (`small`) where that is asked for.
//!
//! The C library maps large blocks without calling the `mmap` that a program sees. Each has a
//! mapping of its own, and two words before it say so (glibc, malloc/malloc.c, `struct
//! malloc_chunk`): the distance from the mapping's start to the words, and the rest of the
//! mapping's size with bits of which `IS_MMAPPED` is one.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::extension::{adopt_object, forget, holds, is_large, relocate};
use super::{owner, small};
use crate::mappings::PAGE;

/// The bit of the size of a block with a mapping of its own.
const IS_MMAPPED: usize = 2;
/// All bits that are no part of the size.
const BITS: usize = 7;
const WORD: usize = size_of::<usize>();

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(number: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// Returns start and size of the mapping of a block, if it has one of its own.
///
/// # Safety
/// The block was allocated by the C library.
unsafe fn mapping(block: *mut c_void) -> Option<(usize, usize)> {
    let words = block.cast::<usize>();
    // SAFETY: two words before each block belong to the C library.
    let (before, size) = unsafe { (*words.sub(2), *words.sub(1)) };
    if size & IS_MMAPPED == 0 {
        return None;
    }
    let start = block as usize - 2 * WORD - before;
    let bytes = before + (size & !BITS);
    let whole = start.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE);
    whole.then_some((start, bytes))
}

/// Puts a new block into extended memory if it is large.
///
/// # Safety
/// The block was allocated by the C library just now, with this size, or is null.
unsafe fn extend(block: *mut c_void, size: usize) -> *mut c_void {
    if is_large(size)
        && !block.is_null()
        // SAFETY: the caller's promise.
        && let Some((start, bytes)) = unsafe { mapping(block) }
    {
        // SAFETY: a new mapping, which ends with the block.
        unsafe { adopt_object(start, bytes, size) };
    }
    block
}

/// Whether a block is one for the heap of small blocks.
fn is_small(size: usize, caller: usize) -> bool {
    !is_large(size) && small::is_for(caller) && !owner::is_left_behind()
}

/// Allocates a block.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn malloc(size: usize, caller: usize) -> *mut c_void {
    match is_small(size, caller) {
        true => small::allocate(size),
        // SAFETY: any size is fine.
        false => unsafe { extend(__libc_malloc(size), size) },
    }
}

/// Allocates a block of zeros.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn calloc(number: usize, size: usize, caller: usize) -> *mut c_void {
    let bytes = number.saturating_mul(size);
    match is_small(bytes, caller) {
        true => small::allocate_zeros(bytes),
        // SAFETY: any size is fine.
        false => unsafe { extend(__libc_calloc(number, size), bytes) },
    }
}

/// Allocates an aligned block.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn memalign(alignment: usize, size: usize, caller: usize) -> *mut c_void {
    match is_small(size, caller) && alignment <= PAGE {
        true => small::allocate_aligned(alignment, size),
        // SAFETY: any size and alignment is fine.
        false => unsafe { extend(__libc_memalign(alignment, size), size) },
    }
}

/// Allocates an aligned block.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn aligned_alloc(
    alignment: usize,
    size: usize,
    caller: usize,
) -> *mut c_void {
    // SAFETY: the caller's promises.
    unsafe { memalign(alignment, size, caller) }
}

/// Allocates a block that is aligned to a page.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    // SAFETY: the caller's promises.
    unsafe { libc::memalign(PAGE, size) }
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
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(WORD) {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promises.
    let made = unsafe { libc::memalign(alignment, size) };
    if made.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's promise.
    unsafe { block.write(made) };
    0
}

/// Changes the size of a block.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        // SAFETY: the caller's promises.
        return unsafe { libc::malloc(size) };
    }
    if size == 0 {
        // SAFETY: the caller's promises.
        unsafe { libc::free(block) };
        return ptr::null_mut();
    }
    if small::has(block) {
        // SAFETY: the caller's promises.
        return unsafe { resize_small(block, size) };
    }
    let before = match owner::is_left_behind() {
        // It must not look at the words of a block that it does not have.
        true => None,
        // SAFETY: the caller's promises.
        false => unsafe { mapping(block) },
    };
    let extended = before.filter(|(start, bytes)| holds(*start, *bytes));
    let Some((start, bytes)) = extended else {
        // SAFETY: the caller's promises.
        return unsafe { extend(__libc_realloc(block, size), size) };
    };
    relocate(start, bytes, || {
        // SAFETY: the caller's promises; what is returned is a block of the C library.
        let made = unsafe { __libc_realloc(block, size) };
        match made.is_null() {
            true => (made, None),
            // Where the kernel refused to move the mapping, the block was copied, and an event has
            // told of the end of the mapping. SAFETY: as above.
            false => (made, unsafe { mapping(made) }),
        }
    })
}

/// Frees a block.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn free(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    if owner::is_left_behind() && holds(block as usize, 1) {
        // The child does not have it.
        return;
    }
    if small::has(block) {
        // SAFETY: the caller's promises.
        return unsafe { small::free(block) };
    }
    // SAFETY: the caller's promises.
    if let Some((start, bytes)) = unsafe { mapping(block) } {
        forget(start, bytes);
    }
    // SAFETY: the caller's promises.
    unsafe { __libc_free(block) };
}

/// Changes the size of a small block, which may become large.
///
/// # Safety
/// As that of the C library.
unsafe fn resize_small(block: *mut c_void, size: usize) -> *mut c_void {
    if !is_large(size) {
        // SAFETY: the caller's promises.
        return unsafe { small::resize(block, size) };
    }
    // SAFETY: the caller's promises; the blocks are apart, and each has that many bytes.
    unsafe {
        let made = extend(__libc_malloc(size), size);
        if !made.is_null() {
            let bytes = malloc_usable_size(block).min(size);
            ptr::copy_nonoverlapping(block.cast::<u8>(), made.cast(), bytes);
            small::free(block);
        }
        made
    }
}

/// Returns the bytes of a block that may be used. Both heaps have a block's size in the word before
/// it; it goes on for a word in the next block, unless it has a mapping of its own.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: the word before each block belongs to its heap.
    let size = unsafe { *block.cast::<usize>().sub(1) };
    let head = match !small::has(block) && size & IS_MMAPPED != 0 {
        true => 2 * WORD,
        false => WORD,
    };
    (size & !BITS) - head
}
