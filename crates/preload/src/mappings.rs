//! `mmap` and its like, as a library for programs does them: by system calls, before and after
//! which the library hears of them. The C library maps blocks without them.

use std::ffi::{c_int, c_void};

/// A distance in a file, in bytes.
pub type Offset = libc::off_t;

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// Defines the C functions `mmap`, `munmap` and `mremap` in a module, by four functions that say
/// what is done about mappings:
///
/// - `replacing`: a mapping at a fixed address is about to take the place of what is in a range.
/// - `mapped`: anonymous memory was mapped, with these flags, that the program can write. It is
///   unsafe: the mapping must be new, and its end come by the functions here.
/// - `unmapping`: a range is about to be unmapped by a call that returns to `caller`; that is any
///   number where the library is [exported](crate::export!) with `caller unknown`.
/// - `moving`: has a mapping moved, or made larger or smaller, by a call, and returns what that
///   returns: the new start, or -1.
macro_rules! functions {
    ($replacing:ident, $mapped:ident, $unmapping:ident, $moving:ident) => {
        /// Maps memory.
        ///
        /// # Safety
        /// As that of the C library.
        pub unsafe extern "C" fn mmap(
            address: *mut c_void,
            length: usize,
            protection: c_int,
            flags: c_int,
            file: c_int,
            offset: $crate::Offset,
        ) -> *mut c_void {
            if flags & libc::MAP_FIXED != 0 {
                $replacing(address as usize, length);
            }
            // The kernel takes whole registers.
            let (access, kind, file) = (
                c_long::from(protection),
                c_long::from(flags),
                c_long::from(file),
            );
            // SAFETY: the caller's promises; the call sets errno.
            let start = unsafe {
                libc::syscall(libc::SYS_mmap, address, length, access, kind, file, offset)
            };
            // Reserved address space is not memory yet.
            let usable = protection & libc::PROT_WRITE != 0 && protection & libc::PROT_EXEC == 0;
            if start != -1 && flags & libc::MAP_ANONYMOUS != 0 && usable {
                // SAFETY: a new mapping, whose end comes by the functions here.
                unsafe { $mapped(start as usize, length, flags) };
            }
            start as *mut c_void
        }

        /// Unmaps memory.
        ///
        /// # Safety
        /// As that of the C library.
        pub unsafe extern "C" fn munmap(
            address: *mut c_void,
            length: usize,
            caller: usize,
        ) -> c_int {
            $unmapping(address as usize, length, caller);
            // SAFETY: the caller's promises; the call sets errno.
            unsafe { libc::syscall(libc::SYS_munmap, address, length) as c_int }
        }

        /// Moves a mapping, or makes it larger or smaller.
        ///
        /// # Safety
        /// As that of the C library.
        pub unsafe extern "C" fn mremap(
            address: *mut c_void,
            old: usize,
            new: usize,
            flags: c_int,
            to: *mut c_void,
        ) -> *mut c_void {
            if flags & libc::MREMAP_FIXED != 0 {
                $replacing(to as usize, new);
            }
            let kind = c_long::from(flags);
            // SAFETY: the caller's promises; the call sets errno. The kernel ignores `to` without
            // the flag.
            let call = || unsafe { libc::syscall(libc::SYS_mremap, address, old, new, kind, to) };
            $moving(address as usize, old, new, call) as *mut c_void
        }
    };
}
pub(crate) use functions;

/// Maps memory, as `mmap` does: offsets have 64 bits in any case.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn mmap64(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: Offset,
) -> *mut c_void {
    // SAFETY: the caller's promises.
    unsafe { libc::mmap(address, length, protection, flags, file, offset) }
}
