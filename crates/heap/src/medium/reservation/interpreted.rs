//! Address space under Miri, whose mmap neither reserves nor maps at a fixed address: zeroed memory
//! of the program's allocator, all there from the beginning.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ops::Range;
use std::os::fd::RawFd;

use super::{HUGE_BYTES, PAGE_BYTES};

/// Miri has memory behind every byte that was reserved.
const MAX_BYTES: u64 = 16 << 20;

/// A range of addresses that nothing else uses, until it is dropped.
pub(crate) struct Reservation {
    base: *mut u8,
    layout: Layout,
}

// SAFETY: it owns addresses, which are the same for every thread; access to the memory there is its
// users' responsibility.
unsafe impl Send for Reservation {}
// SAFETY: same as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves `len` bytes, a multiple of a page.
    pub fn new(len: u64) -> io::Result<Self> {
        if len == 0 || len > MAX_BYTES {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let layout = Layout::from_size_align(len as usize, HUGE_BYTES as usize);
        let layout = layout.map_err(io::Error::other)?;
        // SAFETY: the layout is not empty.
        let base = unsafe { alloc_zeroed(layout) };
        match base.is_null() {
            false => Ok(Self { base, layout }),
            true => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }

    /// Returns the address of the first byte.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Returns the number of reserved bytes.
    pub fn len(&self) -> u64 {
        self.layout.size() as u64
    }

    /// Makes a range of pages all zeros.
    pub fn map_anonymous(&self, range: Range<u64>) -> io::Result<()> {
        assert!(range.end <= self.len() && range.start.is_multiple_of(PAGE_BYTES));
        let (at, len) = (range.start as usize, range.end - range.start);
        // SAFETY: the range lies within the reservation, and what was there is to be replaced.
        unsafe { self.base.add(at).write_bytes(0, len as usize) };
        Ok(())
    }

    /// Same as [`Reservation::map_anonymous`].
    pub fn map_unreserved(&self, range: Range<u64>) -> io::Result<()> {
        self.map_anonymous(range)
    }

    /// Refuses: Miri maps no file.
    pub fn map_file(&self, _: Range<u64>, _: i32, _: RawFd) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Takes no advice.
    ///
    /// # Safety
    ///
    /// Returns no instructions.
    pub unsafe fn advise(&self, _: Range<u64>, _: i32) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and nothing uses it any more.
        unsafe { dealloc(self.base, self.layout) };
    }
}
