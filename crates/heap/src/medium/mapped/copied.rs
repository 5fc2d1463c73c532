//! Files whose blocks are copied when they are written (btrfs; snapshots and reflinks on XFS).
//!
//! On a full disk there is no room for the copy, and a store through a mapping ends the program
//! with SIGBUS, however well the file was allocated. So a new pool is a file that is written in
//! place, and blocks that would be copied all the same are copied when the pool is opened, or
//! opening is refused with a sentence.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{FallocateFlags, IFlags, fallocate, fstatfs, ioctl_getflags, ioctl_setflags};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// From linux/fs.h and linux/fiemap.h.
const FIEMAP_EXTENT_LAST: u32 = 0x1;
const FIEMAP_EXTENT_SHARED: u32 = 0x2000;
const FS_IOC_FIEMAP: libc::c_ulong = 0xc020_660b;
/// Number of extents per request.
const EXTENTS: usize = 64;

/// One extent of a file, as the kernel reports it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    more: [u32; 3],
}

/// The request to the kernel, and its answer.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [Extent; EXTENTS],
}

/// Disables copying on write for a new, empty file, where the file system would copy.
pub(super) fn prevent(file: &File) {
    // Where the flag is unknown nothing is ever copied.
    let _ = ioctl_getflags(file).and_then(|flags| ioctl_setflags(file, flags | IFlags::NOCOW));
}

/// Copies the blocks that are shared with other files now.
///
/// # Errors
///
/// Copying failed, or the file system copies every block that is written.
pub(super) fn undo(file: &File, path: &Path) -> Result<()> {
    let path = path.display();
    let is_btrfs = system_of(file) == Some(libc::BTRFS_SUPER_MAGIC as u64);
    if is_btrfs && ioctl_getflags(file).is_ok_and(|flags| !flags.contains(IFlags::NOCOW)) {
        return Err(Error::usage(format!(
            "{path} lies on btrfs, where its blocks are copied when they are written, so that a full \
             disk would end the program; copy it: touch NEW; chattr +C NEW; cp --reflink=never {path} \
             NEW"
        )));
    }
    if !is_shared(file) {
        return Ok(());
    }
    let len = file.metadata().map_or(0, |metadata| metadata.len());
    match fallocate(file, FallocateFlags::UNSHARE_RANGE, 0, len) {
        Ok(()) => Ok(()),
        Err(Errno::NOSPC) => Err(Error::full(format!(
            "{path} shares blocks with another file, and there is no room for a copy of them; free \
             some"
        ))),
        Err(_) => Err(Error::usage(format!(
            "{path} shares blocks with another file, a snapshot or a copy by reference, so that a \
             full disk would end the program; copy it: cp --reflink=never {path} NEW"
        ))),
    }
}

/// Returns whether a file shares any block with another file; false if the file system does not
/// tell.
fn is_shared(file: &File) -> bool {
    let mut start = 0;
    loop {
        let mut map = Fiemap {
            start,
            length: u64::MAX - start,
            flags: 0,
            mapped: 0,
            count: EXTENTS as u32,
            reserved: 0,
            extents: [Extent::default(); EXTENTS],
        };
        // SAFETY: an open file, and room for as many extents as are said to have room.
        let failed = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) } != 0;
        let found = map.extents.get(..map.mapped as usize).unwrap_or_default();
        let Some(last) = found.last().filter(|_| !failed) else {
            return false;
        };
        let is_shared = |extent: &Extent| extent.flags & FIEMAP_EXTENT_SHARED != 0;
        if found.iter().any(is_shared) {
            return true;
        }
        let next = last.logical.saturating_add(last.length);
        if last.flags & FIEMAP_EXTENT_LAST != 0 || next <= start {
            return false;
        }
        start = next;
    }
}

/// Returns the type of the file system of a file.
pub(super) fn system_of(file: &File) -> Option<u64> {
    fstatfs(file).ok().map(|system| system.f_type as u64)
}
