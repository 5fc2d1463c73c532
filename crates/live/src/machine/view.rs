//! What a program sees of its memory limit.
//!
//! Managed runtimes and databases size themselves by the limit of their control group: a JVM takes
//! a quarter of it for its heap, and below 1792 MiB another collector. Under a budget they would be
//! other programs than without one, and have no memory that could go to the tier. So a program sees
//! the memory files of the group in which Terrace was started, live, where it looks for those of
//! its own group: by bind mounts in a mount name space of its own. Limits that hold for Terrace
//! itself, those of a container say, stay visible.
//!
//! Single files are covered, not the group's directory: groups that the program makes below its own
//! stay in its budget. The root of version 2 has no limits to show; there `UNLIMITED` stands for
//! them.
//!
//! Mounts that the program makes reach others as before, and theirs reach it, for each mount keeps
//! its propagation (`peers` sees to mounts that have none). Only the hierarchy of groups gets no
//! mount back from the program.

use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::{Context, Result, answered};

use crate::group::hierarchy::Mounts;

/// What a program sees of memory limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// Those of the group in which Terrace was started, as without Terrace.
    Machine,
    /// That of its own group, which is its budget.
    Limit,
}

impl View {
    /// Returns the name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Limit => "limit",
        }
    }
}

/// Prefix of the memory controller's files.
const MEMORY: &str = "memory.";
/// The file by which version 1 tells of events in the others, those of the same group alone.
const EVENTS: &str = "cgroup.event_control";
/// The files of version 2 by which a run limits memory. The root has none of them.
const LIMITS: [&str; 3] = ["memory.max", "memory.high", "memory.swap.max"];
/// A file of version 2 that reads `max`, as the files of [`LIMITS`] do without a limit: nothing
/// sets it here.
const UNLIMITED: &str = "cgroup.max.descendants";

/// The files of a program's group that are covered by others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Covers {
    /// Mount point of the hierarchy of groups.
    hierarchy: PathBuf,
    files: Vec<Cover>,
}

/// A file in whose place another is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cover {
    seen: PathBuf,
    covered: PathBuf,
}

impl Covers {
    /// Finds the files of `group` in whose place those of `caller` are to be seen.
    ///
    /// # Errors
    /// A failure if the group or the mounts cannot be read.
    pub fn of(group: &Path, caller: &Path) -> Result<Self> {
        let mounts = Mounts::find()?;
        let (hierarchy, _) = mounts.require_memory()?;
        let what = || format!("cannot look at the cgroup {}", group.display());
        Ok(Self {
            hierarchy: hierarchy.top().to_owned(),
            files: covers(group, caller).or_fail(what)?,
        })
    }

    /// Calls `start`, on a thread of its own, where the files are covered: in a mount name space
    /// that this thread leaves to the processes that it starts.
    ///
    /// # Errors
    /// A failure if the thread, the name space or a mount in it cannot be made.
    pub fn within<T: Send>(&self, start: impl FnOnce() -> T + Send) -> Result<T> {
        let covered = || self.enter().map(|()| start());
        thread::scope(|scope| {
            let thread = thread::Builder::new().spawn_scoped(scope, covered);
            let thread = thread.or_fail(|| "cannot start a thread".into())?;
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Moves this thread to a mount name space of its own, and covers the files there.
    fn enter(&self) -> Result<()> {
        // SAFETY: changes the name space, working directory and umask of this thread alone, whose
        // memory stays as it is.
        let left = answered(unsafe { libc::unshare(libc::CLONE_NEWNS) });
        left.or_fail(|| "cannot make a mount name space".into())?;
        // Before anything is mounted there, which would else be seen by all.
        let cut = mount_change(&self.hierarchy, MountPropagationFlags::DOWNSTREAM);
        cut.map_err(io::Error::from).or_fail(|| {
            let at = self.hierarchy.display();
            format!("cannot keep mounts on {at} from others")
        })?;
        self.files.iter().try_for_each(|Cover { seen, covered }| {
            let mounted = mount_bind(seen, covered).map_err(io::Error::from);
            mounted.or_fail(|| format!("cannot mount on {}", covered.display()))
        })
    }
}

fn covers(group: &Path, caller: &Path) -> io::Result<Vec<Cover>> {
    let mut covers = Vec::new();
    for entry in fs::read_dir(group)? {
        let name = entry?.file_name();
        let text = name.to_string_lossy();
        if !text.starts_with(MEMORY) && text != EVENTS {
            continue;
        }
        let own = caller.join(&name);
        let seen = match own.exists() {
            true => own,
            false if LIMITS.contains(&&*text) => group.join(UNLIMITED),
            false => continue,
        };
        covers.push(Cover {
            seen,
            covered: group.join(&name),
        });
    }
    covers.sort_by(|one, other| one.covered.cmp(&other.covered));
    Ok(covers)
}

/// Checks that a program that this process starts in a group below `caller` can see the machine as
/// without Terrace.
///
/// # Errors
/// A failure that says what the kernel refuses.
pub(crate) fn check(caller: &Path) -> Result<()> {
    // Each file by itself: the same calls, with no group to make.
    Covers::of(caller, caller)?.within(|| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(group: &Path, caller: &Path) -> Vec<(String, String)> {
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let from = |path: &Path| match path.starts_with(group) {
            true => format!("own {}", name(path)),
            false => name(path),
        };
        let all = covers(group, caller).unwrap().into_iter();
        all.map(|cover| (name(&cover.covered), from(&cover.seen)))
            .collect()
    }

    fn group(of: &[&str]) -> tempfile::TempDir {
        let group = tempfile::tempdir().unwrap();
        for name in of {
            fs::write(group.path().join(name), "").unwrap();
        }
        group
    }

    fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
        of.iter()
            .map(|(covered, seen)| ((*covered).into(), (*seen).into()))
            .collect()
    }

    #[test]
    fn all_of_memory_is_seen_as_the_caller_has_it() {
        let files = [
            "cgroup.event_control",
            "cgroup.procs",
            "memory.limit_in_bytes",
            "memory.stat",
            "tasks",
        ];
        let (own, caller) = (group(&files), group(&files));
        fs::create_dir(own.path().join("below")).unwrap();
        let expected = [EVENTS, "memory.limit_in_bytes", "memory.stat"].map(|name| (name, name));
        assert_eq!(names(own.path(), caller.path()), pairs(&expected));
    }

    #[test]
    fn the_root_of_version_two_has_no_limit() {
        let own = group(&[
            "cgroup.max.descendants",
            "memory.current",
            "memory.high",
            "memory.max",
            "memory.stat",
            "memory.swap.max",
        ]);
        let root = group(&["cgroup.max.descendants", "memory.stat"]);
        let expected = [
            ("memory.high", "own cgroup.max.descendants"),
            ("memory.max", "own cgroup.max.descendants"),
            ("memory.stat", "memory.stat"),
            ("memory.swap.max", "own cgroup.max.descendants"),
        ];
        assert_eq!(names(own.path(), root.path()), pairs(&expected));
    }
}
