//! Anonymous memory by pages, which the kernel fills with zeros.

use std::io;
use std::ptr;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use terrace_policy::page::PAGE_BYTES;

/// A mapping of private memory, without huge pages; unmapped when dropped.
///
/// System calls are made without the C library, whose `mmap` a program may have replaced.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: the mapping belongs to no thread; code that dereferences its address ensures that
// accesses are sound.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `pages` pages.
    ///
    /// # Errors
    /// Returns the kernel's.
    pub fn new(pages: usize) -> io::Result<Self> {
        let bytes = pages
            .checked_mul(PAGE_BYTES as usize)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping, which touches no memory of ours.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, flags)? };
        let mapping = Self { start, bytes };
        // SAFETY: the mapping is ours, and the advice changes no contents. A kernel without huge
        // pages refuses it.
        let _ = unsafe { madvise(start, bytes, Advice::LinuxNoHugepage) };
        Ok(mapping)
    }

    /// Returns the first address.
    pub fn address(&self) -> u64 {
        self.start.addr() as u64
    }

    /// Returns the first byte.
    pub fn start(&self) -> *mut u8 {
        self.start.cast()
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, has this size, and is not referred to any more.
        let _ = unsafe { munmap(self.start, self.bytes) };
    }
}
