//! The file of a pool: created, opened, locked, and fully allocated on the device.
//!
//! A new file has no name until it is whole, so a program that is killed meanwhile leaves nothing.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, IoSlice};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::time::UNIX_EPOCH;

use rustix::io::{Errno, ReadWriteFlags, pwritev2};

use super::super::reservation::{HUGE_BYTES, PAGE_BYTES, Reservation};
use super::{copied, room, unnamed};
use crate::error::{Error, Result};

/// Flags for a file on persistent memory, which other file systems refuse. Its metadata is durable
/// before a page can be written, so flushing lines is enough.
pub(super) const DAX: i32 = libc::MAP_SHARED_VALIDATE | libc::MAP_SYNC;

/// Number of huge pages per request.
const HUGE_PAGES: u64 = 32;

/// A file that no other process has open as a pool.
pub(super) struct PoolFile {
    pub file: File,
    path: PathBuf,
    /// The temporary name of a new file, where the file system requires one.
    provisional: Option<PathBuf>,
    /// The process that opened it.
    owner: u32,
}

impl PoolFile {
    /// Creates an empty file that has no name yet ([`PoolFile::name`]).
    pub fn create(path: &Path) -> Result<Self> {
        if path.symlink_metadata().is_ok() {
            return Err(not_created(path, ErrorKind::AlreadyExists.into()));
        }
        let (file, provisional) = unnamed::create(path).map_err(|e| not_created(path, e))?;
        let mut pool = Self::of(file, path);
        pool.provisional = provisional;
        pool.lock(true)?;
        copied::prevent(&pool.file);
        Ok(pool)
    }

    /// Gives a new file its name, durably.
    pub fn name(&mut self) -> Result<()> {
        let path = &self.path;
        let named = unnamed::name(&self.file, self.provisional.as_deref(), path);
        named.map_err(|e| not_created(path, e))?;
        self.provisional = None;
        let folder = unnamed::folder_of(path);
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|reason| failed(folder, "synced", reason))
    }

    /// Opens an existing file as it is; returns it with the bytes of its whole pages.
    pub fn open(path: &Path, writable: bool) -> Result<(Self, u64)> {
        // Checked first: opening a pipe would wait for a writer.
        let metadata = fs::metadata(path).map_err(|e| not_opened(path, writable, e))?;
        if !metadata.is_file() {
            return Err(Error::usage(format!(
                "{} is not a regular file; name one that was created as a pool",
                path.display()
            )));
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(writable);
        let file = options.custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(|e| not_opened(path, writable, e))?;
        let pool = Self::of(file, path);
        pool.lock(writable)?;
        let len = pool.whole_pages()?;
        Ok((pool, len))
    }

    fn of(file: File, path: &Path) -> Self {
        Self {
            file,
            path: path.to_path_buf(),
            provisional: None,
            owner: process::id(),
        }
    }

    /// Returns what tells the file from its copies: its inode, and the time at which it was made,
    /// in nanoseconds; `None` where the file system does not keep that time.
    pub fn identity(&self) -> Option<[u64; 2]> {
        let metadata = self.file.metadata().ok()?;
        let made = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some([metadata.ino(), made.as_nanos() as u64])
    }

    /// Makes the file `len` bytes long and allocates all of them.
    pub fn allocate(&self, len: u64) -> Result<()> {
        let old = self.metadata()?.len();
        if old < len && self.is_in_memory() {
            // Pages that are not huge are allocated below.
            let _ = self.allocate_huge(old, len);
        }
        room::allocate(self.file.as_fd(), 0..len).map_err(|reason| {
            // Undoes the growth; if that fails the file has holes.
            let _ = self.file.set_len(old);
            self.not_allocated(len, reason)
        })
    }

    /// Allocates all of an existing file. A copy may have holes, or share its blocks with the
    /// original.
    pub fn secure(&self) -> Result<()> {
        let missing = self.missing()?;
        room::fill(&self.file).map_err(|reason| self.not_allocated(missing, reason))?;
        copied::undo(&self.file, &self.path)
    }

    /// Returns the bytes that are not allocated on the device yet.
    pub fn missing(&self) -> Result<u64> {
        room::missing(&self.file).map_err(|reason| self.unreadable(reason))
    }

    /// Returns the free bytes on the device, if it tells.
    pub fn free(&self) -> Option<u64> {
        room::free(&self.file)
    }

    /// Grows a file in memory by huge pages, as long as there are some: then a store takes no page
    /// fault (1 µs each) and seldom misses the TLB. They are requested where only the first of
    /// their small pages exists, so that nothing else is copied: 26 ms for 512 MiB, where fallocate
    /// takes 120 ms for small pages.
    fn allocate_huge(&self, old: u64, len: u64) -> io::Result<()> {
        let first = old.next_multiple_of(HUGE_BYTES);
        let end = len / HUGE_BYTES * HUGE_BYTES;
        if first >= end {
            return Ok(());
        }
        self.file.set_len(len)?;
        let space = Reservation::new(end).map_err(io::Error::other)?;
        self.map(&space, first..end, libc::MAP_SHARED)?;
        for at in (first..end).step_by((HUGE_PAGES * HUGE_BYTES) as usize) {
            let range = at..end.min(at + HUGE_PAGES * HUGE_BYTES);
            for page in range.clone().step_by(HUGE_BYTES as usize) {
                self.file.write_at(&[0], page)?;
            }
            // SAFETY: what can be read there does not change.
            unsafe { space.advise(range, libc::MADV_COLLAPSE)? };
        }
        Ok(())
    }

    /// Writes bytes, and nothing else, to the device: storing them through the mapping first would
    /// write the whole page in which they lie, 2 MiB of it where pages are huge (ext4).
    pub fn write_through(&self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let part = [IoSlice::new(bytes)];
            match pwritev2(&self.file, &part, offset, ReadWriteFlags::DSYNC) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
                Err(Errno::INTR) => {}
                Err(reason) => return Err(reason.into()),
            }
        }
        Ok(())
    }

    /// Writes the file's contents and its length to the device.
    pub fn sync(&self) -> Result<()> {
        let synced = self.file.sync_all();
        synced.map_err(|reason| failed(&self.path, "synced", reason))
    }

    /// Puts a range of its pages at the same range of a reservation.
    pub fn map(&self, space: &Reservation, range: Range<u64>, sharing: i32) -> io::Result<()> {
        space.map_file(range, sharing, self.file.as_raw_fd())
    }

    /// Returns whether lines flushed from the caches are durable, by trying such a mapping. Tried
    /// apart, because a failed mapping may remove the one at its place.
    pub fn is_dax(&self) -> bool {
        let (len, file) = (PAGE_BYTES as usize, self.file.as_raw_fd());
        // SAFETY: a new mapping, wherever there is room: a failed one at a fixed place leaves a
        // hole, which another thread's mapping may fill before it is given back.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, DAX, file, 0) };
        let mapped = page != libc::MAP_FAILED;
        if mapped {
            // SAFETY: mapped above, and used by nothing else.
            unsafe { libc::munmap(page, len) };
        }
        mapped
    }

    /// Returns whether the file lies in memory, where a sync does not help.
    pub fn is_in_memory(&self) -> bool {
        const RAMFS_MAGIC: u64 = 0x8584_58f6;
        let system = copied::system_of(&self.file);
        system.is_some_and(|of| [libc::TMPFS_MAGIC as u64, RAMFS_MAGIC].contains(&of))
    }

    fn lock(&self, alone: bool) -> Result<()> {
        let locked = match alone {
            true => self.file.try_lock(),
            false => self.file.try_lock_shared(),
        };
        locked.map_err(|error| match error {
            TryLockError::WouldBlock => Error::open(format!(
                "{} is open already, here or in another program; close it there first",
                self.path.display()
            )),
            TryLockError::Error(reason) => failed(&self.path, "locked", reason),
        })
    }

    fn whole_pages(&self) -> Result<u64> {
        let (path, len) = (self.path.display(), self.metadata()?.len());
        let pages = len / PAGE_BYTES * PAGE_BYTES;
        if len == 0 {
            return Err(Error::damaged(format!(
                "{path} is empty and no pool; remove it and create a pool there"
            )));
        }
        if pages == 0 {
            return Err(Error::damaged(format!(
                "{path} has {len} bytes, and a pool has {PAGE_BYTES} at least; it was cut off, or \
                 is something else"
            )));
        }
        Ok(pages)
    }

    fn metadata(&self) -> Result<fs::Metadata> {
        let metadata = self.file.metadata();
        metadata.map_err(|reason| self.unreadable(reason))
    }

    fn unreadable(&self, reason: io::Error) -> Error {
        failed(&self.path, "read", reason)
    }

    fn not_allocated(&self, len: u64, reason: io::Error) -> Error {
        let path = self.path.display();
        match reason.raw_os_error() {
            Some(libc::ENOSPC | libc::EFBIG | libc::EDQUOT) => Error::full(format!(
                "{len} bytes do not fit on the file system of {path}; free some, or ask for less"
            )),
            _ => Error::system(format!("{len} bytes of {path} cannot be allocated"), reason),
        }
    }
}

impl Drop for PoolFile {
    /// Releases the lock, which a child that was forked meanwhile shares; in such a child it is
    /// left to the parent.
    fn drop(&mut self) {
        if self.owner != process::id() {
            return;
        }
        if let Some(provisional) = &self.provisional {
            // The pool was never completed.
            let _ = fs::remove_file(provisional);
        }
        // If that fails, the lock ends with the last descriptor.
        let _ = self.file.unlock();
    }
}

fn failed(path: &Path, what: &str, reason: io::Error) -> Error {
    Error::system(format!("{} cannot be {what}", path.display()), reason)
}

fn not_created(path: &Path, reason: io::Error) -> Error {
    let path = path.display();
    match reason.kind() {
        ErrorKind::AlreadyExists => Error::usage(format!(
            "{path} is there already; open it, or remove it first"
        )),
        ErrorKind::NotFound => Error::usage(format!(
            "the folder of {path} is not there; create it first"
        )),
        _ => Error::system(format!("{path} cannot be created"), reason),
    }
}

fn not_opened(path: &Path, writable: bool, reason: io::Error) -> Error {
    let path = path.display();
    match reason.kind() {
        ErrorKind::NotFound => Error::usage(format!("{path} is not there; create a pool first")),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem if writable => {
            Error::usage(format!(
                "{path} may not be written; open it for reading alone, change its permissions, or take \
                 a copy"
            ))
        }
        ErrorKind::PermissionDenied => {
            Error::usage(format!("{path} may not be read; change its permissions"))
        }
        _ => Error::system(format!("{path} cannot be opened"), reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that run as root find no file that may not be written.
    #[test]
    fn what_may_not_be_written_is_refused_with_a_sentence() {
        for reason in [libc::EACCES, libc::EROFS] {
            let error = not_opened(Path::new("p"), true, io::Error::from_raw_os_error(reason));
            let sentence = "p may not be written; open it for reading alone, change its permissions, \
                            or take a copy";
            assert_eq!(error.to_string(), sentence);
        }
    }

    #[test]
    fn a_file_in_memory_is_allocated_wholly_whether_or_not_of_huge_pages() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let pool = PoolFile::create(&folder.path().join("pool")).unwrap();
        for len in [3 << 20, (3 << 20) + PAGE_BYTES, 9 << 20] {
            pool.allocate(len).unwrap();
            let metadata = pool.file.metadata().unwrap();
            assert_eq!(metadata.len(), len);
            assert!(metadata.blocks() * 512 >= len);
            let mut bytes = vec![1; len as usize];
            pool.file.read_exact_at(&mut bytes, 0).unwrap();
            assert!(bytes.iter().all(|&byte| byte == 0));
        }
        let error = pool.allocate(1 << 50).unwrap_err();
        assert!(error.to_string().contains("do not fit"), "{error}");
        assert_eq!(pool.file.metadata().unwrap().len(), 9 << 20);
    }

    #[test]
    fn holes_are_filled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        File::create(&path).unwrap().set_len(1 << 20).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().blocks(), 0);
        let (pool, len) = PoolFile::open(&path, true).unwrap();
        assert_eq!((len, pool.missing()), (1 << 20, Ok(1 << 20)));
        assert_eq!(fs::metadata(&path).unwrap().blocks(), 0);
        pool.secure().unwrap();
        assert!(fs::metadata(&path).unwrap().blocks() >= 2048);
    }
}
