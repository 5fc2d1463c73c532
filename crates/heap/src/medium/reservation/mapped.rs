//! Address space of the kernel.

use std::io;
use std::ops::Range;
use std::os::fd::RawFd;
use std::ptr;

use super::{HUGE_BYTES, PAGE_BYTES};

/// A range of addresses that nothing else uses, until it is dropped.
pub(crate) struct Reservation {
    base: *mut u8,
    len: u64,
}

// SAFETY: it owns addresses, which are the same for every thread; access to the memory there is its
// users' responsibility.
unsafe impl Send for Reservation {}
// SAFETY: same as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves `len` bytes, a multiple of a page; none of them can be touched yet.
    pub fn new(len: u64) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let more = len.saturating_add(HUGE_BYTES);
        // SAFETY: a new mapping, wherever there is room, that is not accessible.
        let all = unsafe { map(ptr::null_mut(), more, libc::PROT_NONE, flags, -1, 0)? };
        let before = all.addr().next_multiple_of(HUGE_BYTES as usize) - all.addr();
        // SAFETY: the parts before and behind belong to this reservation, and nothing uses them
        // yet.
        unsafe {
            let base = all.add(before);
            unmap(all, before);
            unmap(base.add(len as usize), HUGE_BYTES as usize - before);
            Ok(Self { base, len })
        }
    }

    /// Returns the address of the first byte.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Returns the number of reserved bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Maps new memory, all zeros, at a range of pages.
    pub fn map_anonymous(&self, range: Range<u64>) -> io::Result<()> {
        self.map(range, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// Same as [`Reservation::map_anonymous`], whether or not the machine has that much memory.
    pub fn map_unreserved(&self, range: Range<u64>) -> io::Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        self.map(range, flags, -1)
    }

    /// Maps a range of pages of a file at the same range of the reservation.
    pub fn map_file(&self, range: Range<u64>, sharing: i32, file: RawFd) -> io::Result<()> {
        self.map(range, sharing, file)
    }

    /// Advises the kernel about a range of pages (madvise).
    ///
    /// # Safety
    ///
    /// Nothing relies on what the advice may remove.
    pub unsafe fn advise(&self, range: Range<u64>, advice: i32) -> io::Result<()> {
        assert!(range.end <= self.len && range.start.is_multiple_of(PAGE_BYTES));
        let len = (range.end - range.start) as usize;
        // SAFETY: the range lies within the reservation; the rest is promised by the caller.
        let done =
            unsafe { libc::madvise(self.base.add(range.start as usize).cast(), len, advice) };
        match done {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn map(&self, range: Range<u64>, flags: i32, file: RawFd) -> io::Result<()> {
        assert!(range.end <= self.len && range.start.is_multiple_of(PAGE_BYTES));
        if range.is_empty() {
            return Ok(());
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range lies within the reservation, so that it replaces what is ours.
        unsafe {
            let at = self.base.add(range.start as usize);
            let len = range.end - range.start;
            map(at, len, access, flags | libc::MAP_FIXED, file, range.start).map(drop)
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the range belongs to this reservation, and its users borrow from the owner of
        // this.
        unsafe { unmap(self.base, self.len as usize) };
    }
}

/// # Safety
///
/// Nothing uses what was at these addresses.
unsafe fn unmap(at: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: promised by the caller.
        unsafe { libc::munmap(at.cast(), len) };
    }
}

/// # Safety
///
/// With `MAP_FIXED`, nothing uses what was at these addresses.
unsafe fn map(
    at: *mut u8,
    len: u64,
    access: i32,
    flags: i32,
    file: RawFd,
    offset: u64,
) -> io::Result<*mut u8> {
    // SAFETY: promised by the caller.
    let base = unsafe { libc::mmap(at.cast(), len as usize, access, flags, file, offset as i64) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(base.cast())
}
