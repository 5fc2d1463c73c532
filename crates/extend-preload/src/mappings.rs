//! `mmap` and its like, in place of the C library's.

use std::arch::naked_asm;
use std::ffi::{c_int, c_long, c_void};

use crate::callers::is_own;
use crate::extended::{adopt_object, forget, holds, is_large, relocate};

const PAGE: usize = 4096;

/// Kinds of mappings that are not extended: shared, of files, of huge pages, locked, and stacks,
/// which grow.
const OTHER_KINDS: c_int =
    libc::MAP_SHARED | libc::MAP_HUGETLB | libc::MAP_LOCKED | libc::MAP_STACK | libc::MAP_GROWSDOWN;

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
    let bytes = length.next_multiple_of(PAGE);
    if flags & libc::MAP_FIXED != 0 {
        forget(address as usize, bytes);
    }
    // The kernel takes whole registers.
    let (access, kind, file) = (
        c_long::from(protection),
        c_long::from(flags),
        c_long::from(file),
    );
    // SAFETY: the caller's promises; the call sets errno.
    let start =
        unsafe { libc::syscall(libc::SYS_mmap, address, length, access, kind, file, offset) };
    let anonymous = flags & (libc::MAP_ANONYMOUS | OTHER_KINDS) == libc::MAP_ANONYMOUS;
    // Reserved address space is not memory yet.
    let usable = protection & libc::PROT_WRITE != 0 && protection & libc::PROT_EXEC == 0;
    if start != -1 && anonymous && usable && is_large(bytes) {
        // SAFETY: a new mapping, whose end comes by the functions here.
        unsafe { adopt_object(start as usize, bytes, bytes) };
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

/// Unmaps memory.
///
/// # Safety
/// As that of the C library.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(address: *mut c_void, length: usize) -> c_int {
    // The address to which this returns lies on top of the stack.
    naked_asm!("mov rdx, [rsp]", "jmp {}", sym munmap_for)
}

/// Unmaps memory; `caller` is the address to which the call returns.
unsafe extern "C" fn munmap_for(address: *mut c_void, length: usize, caller: usize) -> c_int {
    // The memory of this library is not extended, and while the process forks its threads must not
    // wait for those of the program.
    if !is_own(caller) {
        forget(address as usize, length.next_multiple_of(PAGE));
    }
    // SAFETY: the caller's promises; the call sets errno.
    unsafe { libc::syscall(libc::SYS_munmap, address, length) as c_int }
}

/// Moves a mapping, or makes it larger or smaller.
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
    if flags & libc::MREMAP_FIXED != 0 {
        forget(to as usize, new.next_multiple_of(PAGE));
    }
    // SAFETY: the caller's promises; the call sets errno. The kernel ignores `to` without the flag.
    let call =
        || unsafe { libc::syscall(libc::SYS_mremap, address, old, new, c_long::from(flags), to) };
    let (start, bytes) = (address as usize, old.next_multiple_of(PAGE));
    if !holds(start, bytes) {
        return call() as *mut c_void;
    }
    let moved = relocate(start, bytes, || {
        let moved: c_long = call();
        let now = (moved as usize, new.next_multiple_of(PAGE));
        (moved, (moved != -1).then_some(now))
    });
    moved as *mut c_void
}

/// Advises the kernel about memory.
///
/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
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
