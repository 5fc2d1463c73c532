//! `mmap` and its like, as the program calls them; the C library maps blocks without them.

use std::ffi::{c_int, c_long, c_void};

use crate::tell::{allocated, ending, freed, is_large};

/// Maps memory.
///
/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    // The kernel takes whole registers.
    let (access, kind, file) = (
        c_long::from(protection),
        c_long::from(flags),
        c_long::from(file),
    );
    // SAFETY: the caller's promises; the call sets errno.
    let start =
        unsafe { libc::syscall(libc::SYS_mmap, address, length, access, kind, file, offset) };
    // Reserved address space is not memory yet.
    let usable = protection & libc::PROT_WRITE != 0 && protection & libc::PROT_EXEC == 0;
    if start != -1 && flags & libc::MAP_ANONYMOUS != 0 && usable {
        allocated(start as *mut c_void, length);
    }
    start as *mut c_void
}

/// Maps memory: offsets have 64 bits in any case.
///
/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    // SAFETY: the caller's promises.
    unsafe { mmap(address, length, protection, flags, file, offset) }
}

/// Unmaps memory; an object ends with its first page.
///
/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(address: *mut c_void, length: usize) -> c_int {
    if is_large(length) {
        ending(address);
        freed(address);
    }
    // SAFETY: the caller's promises; the call sets errno.
    unsafe { libc::syscall(libc::SYS_munmap, address, length) as c_int }
}

/// Moves a mapping, or makes it larger or smaller; it is another object then.
///
/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(
    address: *mut c_void,
    old: usize,
    new: usize,
    flags: c_int,
    to: *mut c_void,
) -> *mut c_void {
    if is_large(old) {
        ending(address);
    }
    // SAFETY: the caller's promises; the call sets errno. The kernel ignores `to` without the flag.
    let moved =
        unsafe { libc::syscall(libc::SYS_mremap, address, old, new, c_long::from(flags), to) };
    if moved != -1 {
        if is_large(old) {
            freed(address);
        }
        allocated(moved as *mut c_void, new);
    }
    moved as *mut c_void
}
