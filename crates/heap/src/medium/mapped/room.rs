//! Allocation of a whole file on its device: a store to a hole would end the program with SIGBUS
//! when the device is full.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, fstatvfs, seek};
use rustix::io::Errno;

/// Allocates a range of a file, and extends the file to its end.
pub(crate) fn allocate(file: BorrowedFd, range: Range<u64>) -> io::Result<()> {
    let offset = |at| i64::try_from(at).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG));
    let (first, len) = (offset(range.start)?, offset(range.end - range.start)?);
    loop {
        // SAFETY: the descriptor is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), first, len) } {
            0 => return Ok(()),
            libc::EINTR => {}
            failed => return Err(io::Error::from_raw_os_error(failed)),
        }
    }
}

/// Returns the bytes of a file that are not allocated on the device. Metadata that the file system
/// keeps there may make them seem fewer.
pub(super) fn missing(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    Ok(metadata.len().saturating_sub(metadata.blocks() * 512))
}

/// Returns the bytes free on the device for unprivileged programs; `None` if it does not tell.
pub(super) fn free(file: &File) -> Option<u64> {
    // A file system in memory without a limit has no blocks.
    let system = fstatvfs(file).ok().filter(|system| system.f_blocks > 0)?;
    Some(system.f_bavail * system.f_frsize)
}

/// Allocates the holes of a file. On failure all that was allocated is given back.
pub(super) fn fill(file: &File) -> io::Result<()> {
    let missing = missing(file)?;
    if missing == 0 {
        return Ok(());
    }
    if free(file).is_some_and(|free| free < missing) {
        return Err(io::Error::from_raw_os_error(libc::ENOSPC));
    }
    let holes = holes(file)?;
    for (filled, hole) in holes.iter().enumerate() {
        if let Err(reason) = allocate(file.as_fd(), hole.clone()) {
            holes[..=filled].iter().for_each(|hole| punch(file, hole));
            return Err(reason);
        }
    }
    Ok(())
}

/// Returns the holes of a file.
fn holes(file: &File) -> io::Result<Vec<Range<u64>>> {
    let end = file.metadata()?.len();
    let (mut holes, mut at) = (Vec::new(), 0);
    while at < end {
        let first = next(file, SeekFrom::Hole(at))?.unwrap_or(end);
        at = next(file, SeekFrom::Data(first))?.unwrap_or(end);
        if first < at {
            holes.push(first..at.min(end));
        }
    }
    Ok(holes)
}

/// Returns the offset of the next data or the next hole, if there is one.
fn next(file: &File, from: SeekFrom) -> io::Result<Option<u64>> {
    match seek(file, from) {
        Err(Errno::NXIO) => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// Gives the room of a hole back; if that fails it stays allocated.
fn punch(file: &File, hole: &Range<u64>) {
    let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let _ = fallocate(file, how, hole.start, hole.end - hole.start);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn holes_are_found_between_what_was_written() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        assert!(holes(&file).unwrap().iter().eq([&(0..1 << 20)]));
        assert_eq!(missing(&file).unwrap(), 1 << 20);
        file.write_all_at(&[1; 65536], 1 << 18).unwrap();
        let around = [0..1 << 18, (1 << 18) + 65536..1 << 20];
        assert_eq!(holes(&file).unwrap(), around);
        fill(&file).unwrap();
        assert_eq!(missing(&file).unwrap(), 0);
    }

    #[test]
    fn what_does_not_fit_is_not_begun() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[1; 4096], 0).unwrap();
        // More than any device has, and less than a file may have.
        file.set_len(1 << 43).unwrap();
        let before = file.metadata().unwrap().blocks();
        assert_eq!(fill(&file).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        assert_eq!(file.metadata().unwrap().blocks(), before);
    }
}
