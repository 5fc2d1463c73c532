//! Processes that the kernel has killed for want of memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use terrace_base::Result;

use crate::group::cgroup::{groups_in, value_of};
use crate::group::hierarchy::Mounts;
use crate::group::members::Scope;
use crate::group::target::Target;

/// The kernel's counts of kills, by version: version 2 counts those of the groups below as well,
/// and keeps them when these are removed.
const FILES: [&str; 2] = ["memory.oom_control", "memory.events"];

/// Returns the kills on this machine since boot; 0 where the kernel does not count them (Linux 4.12
/// and before).
pub fn on_machine() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    value_of(&text, "oom_kill").unwrap_or(0)
}

/// Returns the kills that the kernel counts for a group; `None` if it counts none.
pub(crate) fn in_group(directory: &Path) -> Option<u64> {
    let mut texts = FILES.iter().map(|file| directory.join(file));
    let text = texts.find_map(|file| fs::read_to_string(file).ok())?;
    value_of(&text, "oom_kill")
}

/// The kills in a group and in those below it, from a moment on.
#[derive(Debug)]
pub struct Kills {
    group: PathBuf,
    /// Of each group that is there: the count at the last look.
    counts: BTreeMap<PathBuf, u64>,
}

impl Kills {
    /// Begins to count those of a target; `None` if the kernel does not count its memory by group.
    ///
    /// # Errors
    /// A usage error if there is no such target, or several.
    pub fn of(target: &Target) -> Result<Option<Self>> {
        let mounts = Mounts::find()?;
        let (Scope::Group { group, .. }, Some((memory, _))) =
            (target.find(&mounts)?.scope, mounts.memory())
        else {
            return Ok(None);
        };
        Ok(group.starts_with(memory.top()).then(|| Self::within(group)))
    }

    fn within(group: PathBuf) -> Self {
        let mut kills = Self {
            group,
            counts: BTreeMap::new(),
        };
        kills.since();
        kills
    }

    /// Returns the kills since this was asked last. Those that the kernel forgot with a group that
    /// was removed meanwhile are missing.
    pub fn since(&mut self) -> u64 {
        self.counts.retain(|group, _| group.exists());
        let mut new = 0;
        let mut unread = vec![self.group.clone()];
        while let Some(group) = unread.pop() {
            let Some(count) = in_group(&group) else {
                continue;
            };
            if group.join(FILES[0]).exists() {
                unread.extend(groups_in(&group));
            }
            let known = self.counts.insert(group, count).unwrap_or(0);
            // A group of the same name that was made anew counts from zero.
            new += count.checked_sub(known).unwrap_or(count);
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn count(group: &Path, file: &str, kills: u64) {
        fs::create_dir_all(group).unwrap();
        fs::write(group.join(file), format!("oom 7\noom_kill {kills}\n")).unwrap();
    }

    #[test]
    fn version_1_counts_each_group_by_itself() {
        let directory = tempfile::tempdir().unwrap();
        let group = directory.path();
        let below = group.join("a/b");
        count(group, FILES[0], 5);
        count(&group.join("a"), FILES[0], 1);
        let mut kills = Kills::within(group.into());
        assert_eq!(kills.since(), 0, "what was before does not count");
        count(&below, FILES[0], 2);
        count(group, FILES[0], 6);
        assert_eq!((kills.since(), kills.since()), (3, 0));
        // Removed, and made anew before and after a look: nothing is taken back.
        fs::remove_dir_all(&below).unwrap();
        count(&below, FILES[0], 1);
        assert_eq!(kills.since(), 1);
        fs::remove_dir_all(&below).unwrap();
        assert_eq!(kills.since(), 0);
        count(&below, FILES[0], 4);
        assert_eq!(kills.since(), 4);
        fs::remove_dir_all(group).unwrap();
        assert_eq!(kills.since(), 0);
    }

    #[test]
    fn version_2_counts_those_below_as_well() {
        let directory = tempfile::tempdir().unwrap();
        let group = directory.path();
        count(group, FILES[1], 1);
        let mut kills = Kills::within(group.into());
        count(&group.join("a"), FILES[1], 2);
        count(group, FILES[1], 3);
        assert_eq!((kills.since(), kills.since()), (2, 0));
    }

    /// A group of this machine, removed when dropped.
    struct Group(PathBuf);

    impl Group {
        fn new(path: PathBuf) -> Self {
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        /// Runs a script of the shell in it.
        fn run(&self, script: &str) {
            let joins = format!("echo $$ >{}/cgroup.procs; {script}", self.0.display());
            Command::new("sh").args(["-c", &joins]).status().unwrap();
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            crate::group::cgroup::remove(&self.0).unwrap();
        }
    }

    #[test]
    #[ignore = "needs root for groups with a limit; run by make test-root"]
    fn the_kernel_kills_and_is_counted() {
        let (memory, version) = {
            let mounts = Mounts::find().unwrap();
            let (mount, version) = mounts.require_memory().unwrap();
            (mount.top().to_owned(), version.number())
        };
        let name = format!("terrace-test-kills-{}", std::process::id());
        let group = Group::new(memory.join(name));
        let limit = 16 << 20;
        // With swap the kernel would move its memory instead.
        let limits = match version {
            1 => [
                ("memory.limit_in_bytes", limit),
                ("memory.memsw.limit_in_bytes", limit),
            ],
            _ => [("memory.max", limit), ("memory.swap.max", 0)],
        };
        for (file, bytes) in limits {
            fs::write(group.0.join(file), bytes.to_string()).unwrap();
        }
        let mut kills = Kills::of(&Target::Cgroup(group.0.clone()))
            .unwrap()
            .unwrap();
        let before = on_machine();
        group.run("exit 0");
        assert_eq!(kills.since(), 0, "nothing was killed");
        // A variable of the shell with more than the limit; the child is killed, this shell is not.
        group.run("sh -c 'a=$(head -c 64M /dev/zero | tr \"\\0\" x); echo ${#a}'");
        let counted = kills.since();
        assert!(counted > 0, "it was killed, and is not counted");
        assert!(on_machine() - before >= counted);
        assert_eq!(kills.since(), 0, "each kill counts once");
    }
}
