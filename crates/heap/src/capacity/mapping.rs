//! Memory from the kernel, without an allocation on the way there.

use std::io;
use std::os::fd::RawFd;
use std::ptr::{self, NonNull};

/// Memory that is mapped until this is dropped. Pages come when they are touched.
pub(super) struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: it owns addresses, which are every thread's alike; what is read and written there is the
// affair of those who do so.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `len` bytes, zeros, beginning at a multiple of `align`, both multiples of a page. They come
    /// from `file`, if there is one.
    pub fn new(len: usize, align: usize, file: Option<RawFd>) -> io::Result<Self> {
        let none = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1);
        // SAFETY: a new mapping wherever there is room.
        let all = unsafe { map(ptr::null_mut(), len + align, none)? };
        let before = all.addr().next_multiple_of(align) - all.addr();
        // SAFETY: within what was just mapped, and nobody knows of it yet.
        unsafe {
            let base = all.add(before);
            unmap(all, before);
            unmap(base.add(len), align - before);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let how = match file {
                Some(file) => (access, libc::MAP_SHARED, file),
                None => (access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
            };
            let here = (how.0, how.1 | libc::MAP_FIXED, how.2);
            let mapped = map(base, len, here).inspect_err(|_| unmap(base, len))?;
            let base = NonNull::new(mapped).ok_or(io::ErrorKind::OutOfMemory)?;
            Ok(Self { base, len })
        }
    }

    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is ours, and whoever uses it borrows from whoever owns this.
        unsafe { unmap(self.base.as_ptr(), self.len) };
    }
}

/// # Safety
///
/// With `MAP_FIXED`, nobody uses what was at these addresses.
unsafe fn map(at: *mut u8, len: usize, how: (i32, i32, RawFd)) -> io::Result<*mut u8> {
    let (access, flags, file) = how;
    let flags = flags | libc::MAP_NORESERVE;
    // SAFETY: the caller's.
    let base = unsafe { libc::mmap(at.cast(), len, access, flags, file, 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(base.cast())
}

/// # Safety
///
/// Nobody uses what was there.
unsafe fn unmap(at: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: the caller's.
        unsafe { libc::munmap(at.cast(), len) };
    }
}
