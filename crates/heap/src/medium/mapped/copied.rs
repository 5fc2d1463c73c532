//! Files whose blocks are copied when they are written (btrfs; snapshots and reflinks on XFS).
//!
//! On a full disk there is no room for the copy, and a store through a mapping ends the program with
//! SIGBUS, however well the file was allocated. So a new pool is a file that is written in place, and
//! blocks that would be copied all the same are copied when the pool is opened, or opening is refused
//! with a sentence.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::error::{Error, Result};

/// From linux/fs.h and linux/fiemap.h.
const FS_NOCOW_FL: libc::c_int = 0x0080_0000;
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
    if let Ok(flags) = flags_of(file) {
        let flags = flags | FS_NOCOW_FL;
        // SAFETY: an open file and a number. Where the flag is unknown nothing is ever copied.
        let _ = unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_SETFLAGS, &raw const flags) };
    }
}

/// Copies the blocks that are shared with other files now.
///
/// # Errors
///
/// Copying failed, or the file system copies every block that is written.
pub(super) fn undo(file: &File, path: &Path) -> Result<()> {
    let path = path.display();
    let is_btrfs = system_of(file) == Some(libc::BTRFS_SUPER_MAGIC as u64);
    if is_btrfs && flags_of(file).is_ok_and(|flags| flags & FS_NOCOW_FL == 0) {
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
    // SAFETY: an open file.
    let done = unsafe {
        let how = libc::FALLOC_FL_UNSHARE_RANGE;
        libc::fallocate(file.as_raw_fd(), how, 0, len as libc::off_t)
    };
    let reason = io::Error::last_os_error();
    match done {
        0 => Ok(()),
        _ if reason.raw_os_error() == Some(libc::ENOSPC) => Err(Error::full(format!(
            "{path} shares blocks with another file, and there is no room for a copy of them; free \
             some"
        ))),
        _ => Err(Error::usage(format!(
            "{path} shares blocks with another file, a snapshot or a copy by reference, so that a \
             full disk would end the program; copy it: cp --reflink=never {path} NEW"
        ))),
    }
}

/// Returns whether a file shares any block with another file; false if the file system does not tell.
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
        if found
            .iter()
            .any(|extent| extent.flags & FIEMAP_EXTENT_SHARED != 0)
        {
            return true;
        }
        let next = last.logical.saturating_add(last.length);
        if last.flags & FIEMAP_EXTENT_LAST != 0 || next <= start {
            return false;
        }
        start = next;
    }
}

fn flags_of(file: &File) -> io::Result<libc::c_int> {
    let mut flags: libc::c_int = 0;
    // SAFETY: an open file, and the place for the number is ours.
    match unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS, &raw mut flags) } {
        0 => Ok(flags),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the type of the file system of a file.
pub(super) fn system_of(file: &File) -> Option<u64> {
    // SAFETY: plain data, filled by the call.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the place is ours.
    let failed = unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut system) } != 0;
    (!failed).then_some(system.f_type as u64)
}
