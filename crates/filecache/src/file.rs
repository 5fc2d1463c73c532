//! Files of the source: which one it is, and as which version.

use std::os::unix::fs::MetadataExt;

use bytemuck::{Pod, Zeroable};

/// Nanoseconds within which two changes of a file may get the same time: kernels before 6.13 take
/// the time of the last tick. What was changed so lately may change again unseen.
pub const TICK: i64 = 20_000_000;

/// A file, wherever it is named.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Pod, Zeroable)]
pub struct Identity {
    /// Its file system, by an id that stays the same when it is mounted again.
    pub file_system: u64,
    /// Its inode.
    pub inode: u64,
}

/// A version of a file. A change makes another, unless it comes within a [`TICK`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Version {
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of contents, in nanoseconds since 1970.
    pub modified: i64,
    /// Time of the last change of contents or attributes, which programs cannot set, in nanoseconds
    /// since 1970.
    pub changed: i64,
}

impl Version {
    /// The version of no file: it never settles.
    pub(crate) const NONE: Self = Self {
        size: 0,
        modified: i64::MAX,
        changed: i64::MAX,
    };

    /// Returns the version that the system tells of.
    pub fn of(about: &std::fs::Metadata) -> Self {
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000) + nanos;
        Self {
            size: about.len(),
            modified: nanos(about.mtime(), about.mtime_nsec()),
            changed: nanos(about.ctime(), about.ctime_nsec()),
        }
    }

    /// Whether every later change than `now` makes another version.
    pub fn is_settled(&self, now: i64) -> bool {
        now.saturating_sub(self.changed) > TICK
    }
}

/// Returns the time in nanoseconds since 1970, by the clock that file systems take.
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i64)
}
