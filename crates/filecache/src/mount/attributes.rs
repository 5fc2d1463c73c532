//! Attributes in FUSE's form.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo};
use rustix::fs::{AtFlags, Stat, Timespec, UTIME_NOW, UTIME_OMIT};

use crate::file::Version;

/// Returns the attributes of what is open, also by a mere path.
pub(super) fn stat(file: impl AsFd) -> io::Result<Stat> {
    Ok(rustix::fs::statat(file, c"", AtFlags::EMPTY_PATH)?)
}

/// Returns the version of a file with these attributes.
pub(super) fn version(stat: &Stat) -> Version {
    let nanos = |seconds: i64, nanos: u64| seconds.saturating_mul(1_000_000_000) + nanos as i64;
    Version {
        size: stat.st_size as u64,
        modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
        changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
    }
}

/// Returns the id of the file system of what is open: that of its maker if it has one, which
/// outlives a reboot, and the number of its device otherwise.
pub(super) fn file_system(file: BorrowedFd<'_>, device: u64) -> u64 {
    match rustix::fs::fstatvfs(file) {
        Ok(about) if about.f_fsid != 0 => about.f_fsid,
        _ => device,
    }
}

/// Returns attributes as FUSE wants them.
pub(super) fn attributes(stat: &Stat, inode: INodeNo) -> FileAttr {
    FileAttr {
        ino: inode,
        size: stat.st_size as u64,
        blocks: stat.st_blocks as u64,
        atime: time(stat.st_atime, stat.st_atime_nsec),
        mtime: time(stat.st_mtime, stat.st_mtime_nsec),
        ctime: time(stat.st_ctime, stat.st_ctime_nsec),
        crtime: UNIX_EPOCH,
        kind: kind(stat.st_mode),
        perm: (stat.st_mode & 0o7777) as u16,
        nlink: stat.st_nlink as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: stat.st_rdev as u32,
        blksize: stat.st_blksize as u32,
        flags: 0,
    }
}

/// Returns what the kernel takes for the attributes of nothing, and keeps.
pub(super) fn nothing() -> FileAttr {
    FileAttr {
        ino: INodeNo(0),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: FileType::RegularFile,
        perm: 0,
        nlink: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 0,
        flags: 0,
    }
}

/// Returns the kind of a file by its mode.
pub(super) fn kind(mode: u32) -> FileType {
    match mode & libc::S_IFMT {
        libc::S_IFDIR => FileType::Directory,
        libc::S_IFLNK => FileType::Symlink,
        libc::S_IFBLK => FileType::BlockDevice,
        libc::S_IFCHR => FileType::CharDevice,
        libc::S_IFIFO => FileType::NamedPipe,
        libc::S_IFSOCK => FileType::Socket,
        _ => FileType::RegularFile,
    }
}

fn time(seconds: i64, nanos: u64) -> SystemTime {
    let within = Duration::from_nanos(nanos);
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let time = match seconds >= 0 {
        true => UNIX_EPOCH.checked_add(whole),
        false => UNIX_EPOCH.checked_sub(whole),
    };
    time.and_then(|time| time.checked_add(within))
        .unwrap_or(UNIX_EPOCH)
}

/// Returns a time to be set.
pub(super) fn timespec(time: Option<fuser::TimeOrNow>) -> Timespec {
    let marked = |mark| Timespec {
        tv_sec: 0,
        tv_nsec: mark,
    };
    match time {
        None => marked(UTIME_OMIT as _),
        Some(fuser::TimeOrNow::Now) => marked(UTIME_NOW as _),
        Some(fuser::TimeOrNow::SpecificTime(time)) => match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Timespec {
                tv_sec: since.as_secs() as i64,
                tv_nsec: since.subsec_nanos() as _,
            },
            Err(before) => {
                let before = before.duration();
                let borrowed = i64::from(before.subsec_nanos() > 0);
                Timespec {
                    tv_sec: -(before.as_secs() as i64) - borrowed,
                    tv_nsec: ((1_000_000_000 - before.subsec_nanos()) % 1_000_000_000) as _,
                }
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_come_back() {
        for (seconds, nanos) in [(0, 0), (7, 5), (-1, 999_999_999), (-2, 0), (-3, 1)] {
            let back = timespec(Some(fuser::TimeOrNow::SpecificTime(time(seconds, nanos))));
            assert_eq!((back.tv_sec, back.tv_nsec as u64), (seconds, nanos));
        }
    }
}
