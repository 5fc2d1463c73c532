//! A directory of the kernel's cgroup file system: its processes, its figures, its removal.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags};
use serde::{Deserialize, Serialize};
use terrace_base::{Context, Error, Result};

use crate::journal::names::require_name_of;
use crate::journal::{Awaited, Change, DeadRun};
use crate::system::busy::while_busy;
use crate::system::lock::Say;
use crate::system::trust::distrust;

/// The magic numbers of the two versions of the cgroup file system (linux/magic.h).
const FILE_SYSTEMS: [u64; 2] = [0x0027_e0eb, 0x6367_7270];

/// The file that lists a group's processes, and to which a process writes `0` to join.
pub const PROCESSES: &str = "cgroup.procs";

/// How often, and after which pause, the removal of a group is repeated.
const AGAIN: (u32, Duration) = (50, Duration::from_millis(10));

/// Returns the processes in the group at `directory` and in all groups below it, which a program
/// may make for its children; empty if it does not exist.
pub fn processes_in(directory: &Path) -> Vec<u32> {
    let mut processes = processes_of(directory);
    for below in groups_in(directory) {
        processes.extend(processes_in(&below));
    }
    processes
}

/// Returns the processes in the group at `directory` itself; empty if it does not exist.
pub fn processes_of(directory: &Path) -> Vec<u32> {
    fs::read_to_string(directory.join(PROCESSES))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect()
}

/// Returns the groups directly below the one at `directory`.
pub fn groups_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// Removes a group without processes, after the groups below it. A group that does not exist is no
/// error.
///
/// # Errors
/// The kernel's error, `EBUSY` if processes are left.
pub fn remove(directory: &Path) -> io::Result<()> {
    for below in groups_in(directory) {
        remove(&below)?;
    }
    // The kernel may take a moment to clear away a process that was just waited for.
    match while_busy(AGAIN.0, AGAIN.1, || fs::remove_dir(directory)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the number after `key` in lines of `key number`, the format of `memory.stat`.
pub fn value_of(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == key).then(|| value.trim().parse().ok())?
    })
}

/// Checks that a directory is a cgroup of root or the caller, if it exists.
pub(crate) fn hold_group(path: &Path) -> Result<()> {
    let cannot = |e: rustix::io::Errno| Error::failure(format!("it cannot be looked at ({e})"));
    let directory = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let group = match rustix::fs::openat(CWD, path, directory, Mode::empty()) {
        Ok(group) => group,
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(e) => return Err(cannot(e)),
    };
    let system = rustix::fs::fstatfs(&group).map_err(cannot)?;
    if !FILE_SYSTEMS.contains(&(system.f_type as u64)) {
        return Err(Error::failure("it is in no cgroup file system"));
    }
    let found = rustix::fs::fstat(&group).map_err(cannot)?;
    match distrust(&found) {
        Some(why) => Err(Error::failure(format!("it {why}"))),
        None => Ok(()),
    }
}

/// The group of a run was made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Cgroup(pub PathBuf);

impl Cgroup {
    /// Checks that a group is one that the run of `owner` makes, if it exists.
    fn require_own(&self, owner: u32) -> Result<()> {
        require_name_of(owner, &self.0)?;
        hold_group(&self.0)
    }
}

#[typetag::serde(name = "cgroup")]
impl Change for Cgroup {
    fn path(&self) -> Option<PathBuf> {
        Some(self.0.clone())
    }

    fn is_undone(&self) -> bool {
        !self.0.exists()
    }

    fn undo(&self, run: &DeadRun, _say: Say) -> Result<()> {
        self.require_own(run.owner)?;
        remove(&self.0).or_fail(|| "it cannot be removed".into())
    }

    fn processes(&self, owner: u32) -> Vec<u32> {
        match self.require_own(owner) {
            Ok(()) => processes_in(&self.0),
            Err(_) => Vec::new(),
        }
    }

    fn awaited(&self, owner: u32) -> Option<Awaited> {
        match self.processes(owner).first() {
            Some(process) => Some(Awaited::Program(*process)),
            None => self.0.exists().then_some(Awaited::Group),
        }
    }
}

impl fmt::Display for Cgroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the cgroup {}", self.0.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_below_count_and_go_with_their_group() {
        let top = tempfile::tempdir().unwrap();
        let group = top.path().join("terrace-1");
        let below = group.join("of/the program");
        fs::create_dir_all(&below).unwrap();
        for (directory, processes) in [(group.as_path(), "4\n5\n"), (&below, "6\n")] {
            fs::write(directory.join(PROCESSES), processes).unwrap();
        }
        assert_eq!(processes_of(&group), [4, 5]);
        assert_eq!(processes_in(&group), [4, 5, 6]);
        // The kernel's files vanish with their directory; plain files do not.
        for directory in [group.as_path(), &below] {
            fs::remove_file(directory.join(PROCESSES)).unwrap();
        }
        remove(&group).unwrap();
        assert!(!group.exists());
        assert!(
            remove(&group).is_ok(),
            "a second time there is nothing to do"
        );
        assert_eq!(processes_in(&group), [] as [u32; 0]);
    }

    #[test]
    fn values_are_found_by_their_whole_key() {
        let text = "cache 4096\ntotal_cache 8192\n";
        assert_eq!(value_of(text, "cache"), Some(4096));
        assert_eq!(value_of(text, "total_cache"), Some(8192));
        assert_eq!(value_of(text, "total"), None);
    }
}
