//! What a file system promises of its files' versions, and so when a page may be kept.
//!
//! A store through a mapping moves the times of a file once, before the bytes are there, and later
//! stores to the same page move nothing until the kernel has written it back. A write moves them
//! before its first byte. So a version alone does not say that the file is as it was. FORMAT.md
//! argues why each promise is enough.

use std::os::fd::AsFd;

use crate::file::{TICK, Version};

/// Nanoseconds after which the kernel has written a change to disk, four times its default
/// (`vm.dirty_expire_centisecs` and `vm.dirty_writeback_centisecs`).
pub(crate) const WRITTEN_BACK: i64 = 140_000_000_000;

/// The coarsest times of a file system: FAT's.
const COARSEST: i64 = 2_000_000_000;

/// What a file system promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// A lease tells that nobody has a file open for writing; a program that opens it later moves
    /// its version. Two changes never have the same times if they are `multigrain`.
    Lease {
        /// Whether a time that was asked for is not given to a later change (Linux 6.13).
        multigrain: bool,
    },
    /// The version moves when bytes reach the server. What others write there is seen when the
    /// client asks for attributes again.
    Server,
    /// Nothing is known but that the kernel writes back: a file is kept if it has not changed for
    /// longer than that takes.
    WriteBack,
    /// Stores through mappings never move the version: nothing is kept.
    Nothing,
}

impl Promise {
    /// Returns what the file system of an open file promises.
    pub(super) fn of(file: impl AsFd) -> Self {
        const EXT: i64 = 0xEF53;
        const XFS: i64 = 0x5846_5342;
        const BTRFS: i64 = 0x9123_683E;
        const F2FS: i64 = 0xF2F5_2010;
        const NFS: i64 = 0x6969;
        const CIFS: i64 = 0xFF53_4D42;
        const SMB2: i64 = 0xFE53_4D42;
        const NINE_P: i64 = 0x0102_1997;
        const CEPH: i64 = 0x00C3_6400;
        const AFS: i64 = 0x6B41_4653;
        const FUSE: i64 = 0x6573_5546;
        const TMPFS: i64 = 0x0102_1994;
        const RAMFS: i64 = 0x8584_58F6;
        const HUGETLBFS: i64 = 0x9584_58F6;
        let Ok(about) = rustix::fs::fstatfs(file) else {
            return Self::WriteBack;
        };
        match about.f_type & 0xFFFF_FFFF {
            EXT | XFS | BTRFS => Self::Lease {
                multigrain: kernel() >= (6, 13),
            },
            F2FS => Self::Lease { multigrain: false },
            NFS | CIFS | SMB2 | NINE_P | CEPH | AFS | FUSE => Self::Server,
            TMPFS | RAMFS | HUGETLBFS => Self::Nothing,
            _ => Self::WriteBack,
        }
    }

    /// Returns a sentence on what does not hold as for a local disk.
    pub fn limit(self) -> Option<&'static str> {
        match self {
            Self::Lease { .. } => None,
            Self::Server => Some(
                "its files are on a server: what others write there is seen as soon as the client of this machine sees \
                 it, so state a short time for attributes there (actimeo of NFS and SMB)",
            ),
            Self::WriteBack => Some(
                "its file system does not tell whether a file is open for writing: pages are kept of files that have \
                 not changed for 140 s",
            ),
            Self::Nothing => Some(
                "its files are in memory, where programs can change them without a trace: no page is kept",
            ),
        }
    }

    /// Whether a later change than `now` has other times than this version has.
    pub(super) fn tells_apart(self, version: &Version, now: i64) -> bool {
        let age = now.saturating_sub(version.changed);
        match self {
            Self::Lease { multigrain } => multigrain || age > TICK,
            // Whole seconds are those of a server that has no finer ones.
            Self::Server if version.changed % 1_000_000_000 == 0 => age > COARSEST,
            Self::Server => age > TICK,
            Self::WriteBack => age > WRITTEN_BACK,
            Self::Nothing => false,
        }
    }
}

/// Returns the first two numbers of the kernel's release.
fn kernel() -> (u32, u32) {
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_tells_changes_apart_when_it_is_old_enough() {
        const NOW: i64 = 1_700_000_000_123_456_789;
        let aged = |age: i64| Version {
            size: 1,
            modified: NOW - age,
            changed: NOW - age,
        };
        let coarse = Promise::Lease { multigrain: false };
        for (promise, age, tells) in [
            (Promise::Lease { multigrain: true }, 0, true),
            (coarse, TICK, false),
            (coarse, TICK + 1, true),
            // A clock that has gone back.
            (coarse, -1_000_000_000, false),
            (Promise::Server, TICK + 1, true),
            (Promise::Server, 1_123_456_789, false),
            (Promise::Server, 2_123_456_789, true),
            (Promise::WriteBack, WRITTEN_BACK, false),
            (Promise::WriteBack, WRITTEN_BACK + 1, true),
            (Promise::Nothing, i64::MAX / 2, false),
        ] {
            assert_eq!(
                promise.tells_apart(&aged(age), NOW),
                tells,
                "{promise:?} {age}"
            );
        }
    }
}
