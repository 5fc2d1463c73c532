//! A file or a block device, past the page cache: DRAM would hold its pages twice otherwise.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_base::block::{self, Claim};
use terrace_base::{Bytes, Context, Error, Result};

use super::Medium;
use crate::store::Superblock;

/// A file or a block device that no other process uses as a store.
#[derive(Debug)]
pub struct Disk {
    file: File,
    bytes: AtomicU64,
    /// Keeps other programs from the device.
    claim: Option<Claim>,
}

impl Disk {
    /// Opens a file, which is made and grows to `size` if need be, or takes a block device as a
    /// whole. What a file holds beyond `size` is left alone.
    ///
    /// # Errors
    /// Returns a usage error if it is in use, holds something other than a store, or is too small;
    /// a failure if the file system has no room for `size`.
    pub fn open(path: &Path, size: Option<Bytes>) -> Result<Self> {
        let kind = path.metadata().map(|about| about.file_type());
        match kind {
            Ok(kind) if kind.is_block_device() => Self::device(path, size),
            Ok(kind) if !kind.is_file() => Err(Error::usage(format!(
                "{} is neither a file nor a block device; name one of these for the flash",
                path.display()
            ))),
            _ => Self::file(path, size),
        }
    }

    fn file(path: &Path, size: Option<Bytes>) -> Result<Self> {
        let name = path.display();
        let cannot = || format!("cannot use the flash file {name}");
        let file = open(path, OpenOptions::new().create(true)).or_fail(cannot)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::usage(format!(
                    "the flash file {name} is in use by another mount; name one that is free"
                )));
            }
            Err(TryLockError::Error(e)) => return Err(e).or_fail(cannot),
        }
        let there = file.metadata().or_fail(cannot)?.len();
        if there > 0 && !Superblock::is_at_start(&file).or_fail(cannot)? {
            return Err(Error::usage(format!(
                "{name} holds something other than a cache, which would be overwritten; name another flash file"
            )));
        }
        let bytes = match size {
            Some(size) => size.0,
            None if there > 0 => there,
            None => {
                return Err(Error::usage(format!(
                    "{name} is not there yet; give the size of the flash with ‘size’"
                )));
            }
        };
        if there < bytes {
            reserve(&file, bytes).map_err(|e| {
                let _ = file.set_len(there);
                full(path, bytes, &e)
            })?;
        }
        Ok(Self {
            file,
            bytes: AtomicU64::new(bytes),
            claim: None,
        })
    }

    fn device(path: &Path, size: Option<Bytes>) -> Result<Self> {
        let name = path.display();
        let claim = block::claim(path, size.unwrap_or(Bytes(0)))?;
        let cannot = || format!("cannot use the device {name}");
        let file = open(&claim.path, &mut OpenOptions::new()).or_fail(cannot)?;
        if !Superblock::is_at_start(&file).or_fail(cannot)?
            && let Some(data) = &claim.data
        {
            return Err(Error::usage(format!(
                "the device {name} holds data ({data}), which would be overwritten; name another, or make it blank \
                 with `blkdiscard --zeroout` if that is not needed"
            )));
        }
        let all = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0));
        let all = all.map_err(io::Error::from).or_fail(cannot)?;
        Ok(Self {
            file,
            bytes: AtomicU64::new(size.map_or(all, |size| size.0)),
            claim: Some(claim),
        })
    }
}

/// Why a flash file cannot have its size.
fn full(path: &Path, bytes: u64, error: &io::Error) -> Error {
    let name = path.display();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => Error::failure(format!(
            "the file system of the flash file {name} has no room for {}; give a smaller ‘size’",
            Bytes(bytes)
        )),
        _ => Error::failure(format!("cannot use the flash file {name}: {error}")),
    }
}

/// Opens past the page cache, where the file system can do that.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.read(true).write(true).mode(0o600);
    let direct = options.clone().custom_flags(libc::O_DIRECT).open(path);
    match direct {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => options.open(path),
        opened => opened,
    }
}

/// Takes the space now: a file system that gets full later would end a cache in the middle of a
/// write. Where there is too little, none is taken, not even for a moment.
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    let about = rustix::fs::fstatvfs(file)?;
    let taken = file.metadata()?.blocks() * 512;
    if bytes.saturating_sub(taken) > about.f_bavail.saturating_mul(about.f_frsize) {
        return Err(io::ErrorKind::StorageFull.into());
    }
    use rustix::fs::{FallocateFlags, fallocate};
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(bytes),
        reserved => Ok(reserved?),
    }
}

impl Medium for Disk {
    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// A device is as large as it is.
    fn is_resizable(&self) -> bool {
        self.claim.is_none()
    }

    fn resize(&self, bytes: u64) -> io::Result<()> {
        let there = self.file.metadata()?.len();
        match bytes > there {
            true => reserve(&self.file, bytes).inspect_err(|_| {
                let _ = self.file.set_len(there);
            })?,
            false => self.file.set_len(bytes)?,
        }
        self.bytes.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    fn write(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        self.file.write_all_at(from, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
