//! The memory of a whole program: address space whose chunks are used as they are needed.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{Mode, OFlags, ftruncate, open};

use super::extents::{Extents, Free};
use super::span::Span;
use super::spans::Chunks;
use crate::contiguity::{Backing, Purpose};
use crate::medium::mapped::allocate;
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
    free: Free,
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
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = open(directory, flags, Mode::RUSR | Mode::WUSR)?;
        let bytes = bytes.next_multiple_of(1 << SHIFT) + (1 << SHIFT);
        ftruncate(&file, bytes as u64)?;
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
            free: Free::new(bytes >> SHIFT, Extents::new())?,
            file,
        })
    }

    /// Has the file system allocate chunks: a store to a hole would end the program with SIGBUS
    /// when the device is full.
    fn allocate(&self, chunk: usize, count: usize) -> bool {
        let range = (chunk << SHIFT) as u64..((chunk + count) << SHIFT) as u64;
        let file = self.file.as_ref();
        file.is_none_or(|file| allocate(file.as_fd(), range).is_ok())
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
        self.free.spans()
    }

    fn take(&self, count: usize) -> Option<usize> {
        let chunk = self.free.take(count)?;
        if !self.allocate(chunk, count) {
            self.free.give(chunk, count);
            return None;
        }
        let (base, len) = (self.memory.base(), self.memory.len());
        let range = ((chunk << SHIFT) as u64, (count << SHIFT) as u64);
        // SAFETY: all of the mapping.
        unsafe { self.backing.prepare(base, len, range, Purpose::Capacity) };
        Some(chunk)
    }

    fn give(&self, chunk: usize, count: usize) {
        if count >= LARGE {
            self.forget(chunk, count);
        }
        self.free.give(chunk, count);
    }
}
