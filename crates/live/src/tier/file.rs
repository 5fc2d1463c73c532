//! Swap files: possible directories, free space, and allocation.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, IFlags, fallocate, ioctl_getflags, ioctl_setflags};
use rustix::io::retry_on_intr;
use terrace_base::block::header;
use terrace_base::{Bytes, Context, Error, Result};
use uuid::Uuid;

/// File systems in memory, where a swap file would be no second tier.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// Returns the free bytes for an unprivileged writer in the file system of `directory`.
///
/// # Errors
/// The kernel's error.
pub fn free_space(directory: &Path) -> io::Result<Bytes> {
    Ok(file_system(directory)?.1)
}

/// Same as [`free_space`], for a directory that can hold a swap file.
///
/// # Errors
/// A usage error if it is in memory, a failure if the kernel does not tell.
pub(super) fn room(directory: &Path) -> Result<Bytes> {
    let name = directory.display();
    match file_system(directory).or_fail(|| format!("cannot look at the tier {name}"))? {
        (kind, _) if IN_MEMORY.contains(&kind) => Err(Error::usage(format!(
            "the tier {name} is on tmpfs, which is DRAM itself; name a directory on a disk"
        ))),
        (_, free) => Ok(free),
    }
}

/// Returns the magic number and the free bytes of the file system of `directory`.
fn file_system(directory: &Path) -> io::Result<(u32, Bytes)> {
    let found = rustix::fs::statfs(directory)?;
    let free = Bytes(found.f_bavail * found.f_bsize as u64);
    Ok((found.f_type as u32, free))
}

/// Makes a new swap file of `size`; removes one that cannot be completed.
///
/// # Errors
/// The kernel's error.
pub(super) fn make(path: &Path, size: Bytes, uuid: Uuid) -> io::Result<()> {
    make_with(path, |file| fill(file, size, uuid))
}

/// Same as [`make`], of a file that takes space only as it is written.
///
/// # Errors
/// The kernel's error.
pub(super) fn make_sparse(path: &Path, size: Bytes, uuid: Uuid) -> io::Result<()> {
    make_with(path, |file| {
        write_in_place(file);
        header::write(file, size, uuid)?;
        file.set_len(size.0)?;
        file.sync_all()
    })
}

/// Makes a new file; removes one that cannot be filled.
fn make_with(path: &Path, fill: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(path)?;
    fill(&file).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Writes the header first, so that a file of a killed run can be recognised.
fn fill(file: &File, size: Bytes, uuid: Uuid) -> io::Result<()> {
    write_in_place(file);
    header::write(file, size, uuid)?;
    allocate(file, size)?;
    file.sync_all()
}

/// Allocates the whole file: the kernel does not swap to a file with holes.
fn allocate(file: &File, size: Bytes) -> io::Result<()> {
    let allocated = retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, size.0));
    Ok(allocated?)
}

/// Disables copy on write and compression of an empty file, without which btrfs refuses swap files.
/// Other file systems do not know the flag and do not need it.
fn write_in_place(file: &File) {
    if let Ok(flags) = ioctl_getflags(file) {
        let wanted = flags.difference(IFlags::COMPRESSED).union(IFlags::NOCOW);
        // If this fails, swapon reports whether the file can be used.
        let _ = ioctl_setflags(file, wanted);
    }
}
