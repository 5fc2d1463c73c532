//! Processes of a program that leave its control group: they have no budget any more, and no figure
//! counts them.
//!
//! Looked at are the program itself, its children, and what was in the group at the look before.
//! What another process starts, and leaves between two looks, is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use terrace_base::process::Figures;

use crate::group::cgroup::processes_in;

/// Looks for processes that have left a group.
#[derive(Debug)]
pub(crate) struct Leavers {
    group: PathBuf,
    program: u32,
    /// Processes that were in the group at the last look, with their start times.
    members: BTreeMap<u32, u64>,
    /// Those that have left it.
    left: BTreeSet<(u32, u64)>,
}

impl Leavers {
    /// Begins with a program in the group at `group`.
    pub fn of(group: PathBuf, program: u32) -> Self {
        Self {
            group,
            program,
            members: BTreeMap::new(),
            left: BTreeSet::new(),
        }
    }

    /// Looks at the group, and at those that should be in it.
    pub fn look(&mut self) {
        // Of a crowd only those that are new are asked for their start times.
        let known = |pid| self.members.get(&pid).map(|started| (pid, *started));
        let listed = self.listed().into_iter();
        let members: BTreeMap<_, _> = listed
            .filter_map(|pid| known(pid).or_else(|| alive(pid)))
            .collect();
        let own = [self.program].into_iter().chain(children(self.program));
        let own = own.filter(|pid| !members.contains_key(pid));
        let before = self.members.iter().map(|(pid, started)| (*pid, *started));
        let outside: BTreeSet<_> = own
            .filter_map(alive)
            .chain(before.filter(|(pid, _)| !members.contains_key(pid)))
            .filter(|process| !self.left.contains(process))
            .collect();
        if !outside.is_empty() {
            // Asked again: a new process may have come between, and one that ends is on no list.
            let listed: BTreeSet<_> = self.listed().into_iter().collect();
            let gone = outside.into_iter().filter(|(pid, _)| !listed.contains(pid));
            self.left
                .extend(gone.filter(|process| alive(process.0) == Some(*process)));
        }
        self.members = members;
    }

    /// Returns how many have left the group.
    pub fn count(&self) -> u64 {
        self.left.len() as u64
    }

    fn listed(&self) -> Vec<u32> {
        processes_in(&self.group)
    }
}

/// Returns a process that runs, with its start time; `None` if it has ended, or is about to.
fn alive(pid: u32) -> Option<(u32, u64)> {
    let figures = Figures::of(pid).ok()??;
    (!figures.has_ended && !figures.is_ending).then_some((pid, figures.started))
}

/// Returns the children that the first thread of a process has (proc_pid_task_children(5)); none
/// where the kernel does not tell.
fn children(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let children = children.split_whitespace();
    children.filter_map(|child| child.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::group::cgroup::PROCESSES;

    /// A process that runs until it is killed.
    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Self {
            let mut command = Command::new("sleep");
            Self(command.arg("100").stdin(Stdio::null()).spawn().unwrap())
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn who_leaves_is_counted_once_and_who_ends_is_not() {
        let group = tempfile::tempdir().unwrap();
        let list = |sleepers: &[&Sleeper]| {
            let pids = sleepers.iter().map(|it| format!("{}\n", it.0.id()));
            fs::write(group.path().join(PROCESSES), pids.collect::<String>()).unwrap();
        };
        let (program, one, two) = (Sleeper::start(), Sleeper::start(), Sleeper::start());
        let mut leavers = Leavers::of(group.path().to_owned(), program.0.id());
        list(&[&program, &one, &two]);
        leavers.look();
        assert_eq!(leavers.count(), 0);
        list(&[&program]);
        drop(two);
        (0..2).for_each(|_| leavers.look());
        assert_eq!(leavers.count(), 1, "one left, and two has ended");
        list(&[]);
        leavers.look();
        assert_eq!(leavers.count(), 2, "the program as well");
        drop(one);
        drop(program);
        leavers.look();
        assert_eq!(leavers.count(), 2);
    }
}
