//! Anonymous memory by pages, which the kernel fills with zeros.

use std::io;
use std::ptr::{self, NonNull};

/// A mapping; unmapped when dropped. Children that are forked share it if it is `MAP_SHARED`.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to no thread; code that dereferences its address ensures that
// accesses are sound.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps memory that can be read and written, with these flags beside `MAP_ANONYMOUS`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(bytes: usize, flags: libc::c_int) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, which touches no memory of ours.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                access,
                flags | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        match NonNull::new(start.cast()) {
            Some(address) if start != libc::MAP_FAILED => Ok(Self {
                start: address,
                bytes,
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns its first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Returns its size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, has this size, and is not referred to any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
