//! `mmap` and its like, whose large mappings lie in extended memory.

use std::ffi::{c_int, c_long, c_void};

use super::callers::is_own;
use super::extension::{adopt_object, forget, holds, is_large, relocate};
use crate::mappings::{PAGE, functions};

/// Kinds of mappings that are not extended: shared, of files, of huge pages, locked, and stacks,
/// which grow.
const OTHER_KINDS: c_int =
    libc::MAP_SHARED | libc::MAP_HUGETLB | libc::MAP_LOCKED | libc::MAP_STACK | libc::MAP_GROWSDOWN;

functions!(replacing, mapped, unmapping, moving);

fn replacing(start: usize, length: usize) {
    forget(start, length.next_multiple_of(PAGE));
}

/// # Safety
/// The mapping is new, and its end comes by the functions here.
unsafe fn mapped(start: usize, length: usize, flags: c_int) {
    let bytes = length.next_multiple_of(PAGE);
    if flags & OTHER_KINDS == 0 && is_large(bytes) {
        // SAFETY: the caller's promise.
        unsafe { adopt_object(start, bytes, bytes) };
    }
}

fn unmapping(start: usize, length: usize, caller: usize) {
    // The memory of this library is not extended, and while the process forks its threads must not
    // wait for those of the program.
    if !is_own(caller) {
        forget(start, length.next_multiple_of(PAGE));
    }
}

fn moving(start: usize, old: usize, new: usize, call: impl FnOnce() -> c_long) -> c_long {
    let bytes = old.next_multiple_of(PAGE);
    if !holds(start, bytes) {
        return call();
    }
    relocate(start, bytes, || {
        let moved = call();
        let now = (moved as usize, new.next_multiple_of(PAGE));
        (moved, (moved != -1).then_some(now))
    })
}

/// Advises the kernel about memory.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int {
    let extended = holds(address as usize, length);
    let advice = match advice {
        // Pages that the kernel may drop later, without a word, are dropped now.
        libc::MADV_FREE if extended => libc::MADV_DONTNEED,
        // Extended memory has no huge pages, and only forks that are followed have it.
        libc::MADV_HUGEPAGE | libc::MADV_DOFORK if extended => return 0,
        advice => advice,
    };
    // SAFETY: the caller's promises; the call sets errno.
    unsafe { libc::syscall(libc::SYS_madvise, address, length, c_long::from(advice)) as c_int }
}
