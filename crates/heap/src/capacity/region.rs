//! The memory of a whole program: address space whose chunks are used as they are needed.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Mutex;

use super::extents::Extents;
use super::span::{Span, Table};
use super::spans::Chunks;
use crate::contiguity::{Backing, Purpose};
use crate::lock::lock;
use crate::medium::reservation::{HUGE_BYTES, Reservation};

/// A chunk has 64 KiB.
const SHIFT: u32 = 16;
/// The largest alignment: a huge page, to which reservations are aligned.
const ALIGN: usize = HUGE_BYTES as usize;
/// Address space to request first; it costs nothing.
const MOST_BYTES: usize = 1 << 40;
/// The least address space with which the allocator works.
const LEAST_BYTES: usize = 64 << 20;
/// Memory of at least this many chunks goes back to the kernel when it is freed: 1 MiB.
const LARGE: usize = 16;

/// Memory without a file, or of a file that has no name.
pub(super) struct Region {
    memory: Reservation,
    table: Table,
    free: Mutex<Extents>,
    file: Option<OwnedFd>,
    backing: Backing,
}

impl Region {
    /// Reserves anonymous memory, as much as there is address space.
    pub fn anonymous(backing: Backing) -> io::Result<Self> {
        let mut bytes = MOST_BYTES;
        loop {
            match Self::with(bytes, None, backing) {
                Err(_) if bytes > LEAST_BYTES => bytes /= 2,
                made => return made,
            }
        }
    }

    /// Reserves memory of an unnamed file in a directory, which is gone when the program ends.
    pub fn in_directory(directory: &CStr, bytes: usize, backing: Backing) -> io::Result<Self> {
        let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
        // SAFETY: a string that ends with a zero.
        let file = unsafe { libc::open(directory.as_ptr(), flags, 0o600) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just opened, and has no other owner.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let bytes = bytes.next_multiple_of(1 << SHIFT) + (1 << SHIFT);
        // SAFETY: an open file.
        if unsafe { libc::ftruncate(file.as_raw_fd(), bytes as i64) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Self::with(bytes, Some(file), backing)
    }

    fn with(bytes: usize, file: Option<OwnedFd>, backing: Backing) -> io::Result<Self> {
        let memory = Reservation::new(bytes as u64)?;
        match &file {
            Some(file) => {
                let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
                memory.map_file(0..memory.len(), flags, file.as_raw_fd())?;
            }
            None => memory.map_unreserved(0..memory.len())?,
        }
        // SAFETY: all of the mapping.
        unsafe { backing.apply(memory.base(), memory.len())? };
        Ok(Self {
            memory,
            backing,
            table: Table::new(bytes >> SHIFT)?,
            free: Mutex::new(Extents::new()),
            file,
        })
    }

    /// Has the file system allocate chunks: a store to a hole would end the program with SIGBUS when
    /// the device is full.
    fn allocate(&self, chunk: usize, count: usize) -> bool {
        let Some(file) = &self.file else {
            return true;
        };
        let (at, len) = ((chunk << SHIFT) as i64, (count << SHIFT) as i64);
        loop {
            // SAFETY: an open file.
            match unsafe { libc::posix_fallocate(file.as_raw_fd(), at, len) } {
                0 => return true,
                libc::EINTR => {}
                _ => return false,
            }
        }
    }

    /// Gives the memory of free chunks back to the kernel.
    fn forget(&self, chunk: usize, count: usize) {
        let how = match self.file {
            Some(_) => libc::MADV_REMOVE,
            None => libc::MADV_DONTNEED,
        };
        let range = (chunk << SHIFT) as u64..((chunk + count) << SHIFT) as u64;
        // SAFETY: nothing is in use there. On failure the memory is kept.
        let _ = unsafe { self.memory.advise(range, how) };
    }
}

impl Chunks for Region {
    /// There is no more memory.
    type Error = ();

    fn base(&self) -> NonNull<u8> {
        NonNull::new(self.memory.base()).expect("no mapping begins at address 0")
    }

    fn align(&self) -> usize {
        ALIGN
    }

    fn shift(&self) -> u32 {
        SHIFT
    }

    fn spans(&self) -> &[Span] {
        self.table.spans()
    }

    fn take(&self, count: usize) -> Result<usize, ()> {
        let chunk = lock(&self.free).take(self.spans(), count).ok_or(())?;
        if self.allocate(chunk, count) {
            let (base, len) = (self.memory.base(), self.memory.len());
            let range = ((chunk << SHIFT) as u64, (count << SHIFT) as u64);
            // SAFETY: all of the mapping.
            unsafe { self.backing.prepare(base, len, range, Purpose::Capacity) };
            return Ok(chunk);
        }
        lock(&self.free).give(self.spans(), chunk, count);
        Err(())
    }

    fn give(&self, chunk: usize, count: usize) {
        if count >= LARGE {
            self.forget(chunk, count);
        }
        lock(&self.free).give(self.spans(), chunk, count);
    }
}
