//! The processes that a run is attached to: a process with all that it has started, or those of a
//! group.
//!
//! Each fault has to be told whether it is one of theirs, so answers are kept. A process that is
//! seen for the first time is asked for its parents, or for its group; all of them are listed again
//! from time to time.

use std::cell::OnceCell;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rustc_hash::{FxHashMap, FxHashSet};
use terrace_base::lock;
use terrace_base::process::Figures;

use crate::group::cgroup::processes_in;
use crate::group::hierarchy::Mount;

/// Generations between a process and the one that started it all, at most.
const GENERATIONS: usize = 64;
/// Members whose faults are counted: some hundred microseconds.
const MOST_COUNTED: usize = 64;

/// What makes a process a member.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    /// A process, with its start time, and its descendants.
    Tree {
        /// Its number.
        root: u32,
        /// Its start time, which tells it from a later one of the same number.
        started: u64,
    },
    /// The processes of a group and of those below it.
    Group {
        /// The hierarchy.
        hierarchy: Mount,
        /// Directory of the group.
        group: PathBuf,
    },
}

/// The members, shared by the thread that asks about faults and the one that lists them.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    scope: Scope,
    known: Arc<Mutex<Known>>,
}

/// Answers that are known.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Members, with their start times.
    members: FxHashMap<u32, u64>,
    /// Processes that were found to be none since the last list.
    others: FxHashSet<u32>,
}

/// A process that is asked about; its groups are read at most once, whoever asks.
#[derive(Debug)]
pub(crate) struct Asked {
    pid: u32,
    groups: OnceCell<String>,
}

impl Asked {
    /// Makes what is asked about the process numbered `pid`.
    pub fn about(pid: u32) -> Self {
        Self {
            pid,
            groups: OnceCell::new(),
        }
    }

    /// Returns its line in each hierarchy; empty if it has ended.
    fn groups(&self) -> &str {
        let read = || fs::read_to_string(format!("/proc/{}/cgroup", self.pid));
        self.groups.get_or_init(|| read().unwrap_or_default())
    }
}

/// A member that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its number.
    pub pid: u32,
    /// Its figures.
    pub figures: Figures,
}

impl Members {
    /// Makes the members of a scope. None is known until [`Members::list`].
    pub fn of(scope: Scope) -> Self {
        Self {
            scope,
            known: Arc::default(),
        }
    }

    /// Removes those that are not of members, or cannot be told.
    pub fn retain<T>(&self, of: impl Fn(&T) -> u32, faults: &mut Vec<T>) {
        let mut known = lock(&self.known);
        faults.retain(|fault| known.has(&Asked::about(of(fault)), &self.scope));
    }

    /// Whether a process is a member, as far as that can be told.
    pub fn has(&self, asked: &Asked) -> bool {
        lock(&self.known).has(asked, &self.scope)
    }

    /// Lists the members that run. This process is none.
    pub fn list(&self) -> Vec<Member> {
        let before = lock(&self.known).members.clone();
        let members = match &self.scope {
            Scope::Tree { root, started } => tree(*root, *started, &before),
            Scope::Group { group, .. } => running(processes_in(group)).collect(),
        };
        let mut known = lock(&self.known);
        let now = members.iter();
        known.members = now.map(|it| (it.pid, it.figures.started)).collect();
        known.others.clear();
        members
    }

    /// Returns a function that counts the members' faults of all kinds from its first call on; it
    /// returns `None` while they are too many to be asked.
    pub fn fault_counter(&self) -> Box<dyn FnMut() -> Option<u64> + Send> {
        let known = Arc::clone(&self.known);
        let mut latest: FxHashMap<u32, u64> = FxHashMap::default();
        let mut total = 0;
        Box::new(move || {
            let pids: Vec<u32> = lock(&known).members.keys().copied().collect();
            if pids.len() > MOST_COUNTED {
                return None;
            }
            let members = running(pids).map(|it| (it.pid, it.figures));
            let now = members.map(|(pid, it)| (pid, it.minor_faults + it.major_faults));
            let now: FxHashMap<u32, u64> = now.collect();
            // What a process did before it was first seen, and after it was last seen, is not
            // known.
            let known = now
                .iter()
                .filter_map(|(pid, faults)| Some((faults, latest.get(pid)?)));
            total += known
                .map(|(now, before)| now.saturating_sub(*before))
                .sum::<u64>();
            latest = now;
            Some(total)
        })
    }
}

impl Known {
    fn has(&mut self, asked: &Asked, scope: &Scope) -> bool {
        let pid = asked.pid;
        if self.members.contains_key(&pid) {
            return true;
        }
        if self.others.contains(&pid) {
            return false;
        }
        let is_ours = pid != std::process::id() && self.ask(asked, scope);
        match is_ours {
            // The next list has its start time.
            true => drop(self.members.insert(pid, 0)),
            false => drop(self.others.insert(pid)),
        }
        is_ours
    }

    /// Asks the kernel whether a process is a member.
    fn ask(&self, asked: &Asked, scope: &Scope) -> bool {
        match scope {
            Scope::Tree { .. } => {
                let parent = |pid: &u32| Some(Figures::of(*pid).ok()??.parent);
                let mut line = std::iter::successors(parent(&asked.pid), parent).take(GENERATIONS);
                line.any(|pid| self.members.contains_key(&pid))
            }
            Scope::Group { hierarchy, group } => {
                let own = hierarchy.group_of(asked.groups());
                own.is_some_and(|own| own.starts_with(group))
            }
        }
    }
}

/// Lists a process, its descendants, and those that were known before, whose parents may have
/// ended.
fn tree(root: u32, started: u64, before: &FxHashMap<u32, u64>) -> Vec<Member> {
    let all: Vec<Member> = running(everyone()).collect();
    let was_known = |it: &Member| {
        let is_root = it.pid == root && it.figures.started == started;
        let known = before.get(&it.pid);
        is_root || known.is_some_and(|&known| known == it.figures.started || known == 0)
    };
    let mut ours: FxHashSet<u32> = all
        .iter()
        .filter(|it| was_known(it))
        .map(|it| it.pid)
        .collect();
    let mut children: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for it in &all {
        children.entry(it.figures.parent).or_default().push(it.pid);
    }
    let mut unasked: Vec<u32> = ours.iter().copied().collect();
    while let Some(pid) = unasked.pop() {
        for &child in children.get(&pid).into_iter().flatten() {
            if ours.insert(child) {
                unasked.push(child);
            }
        }
    }
    let ours = |it: &Member| ours.contains(&it.pid);
    all.into_iter().filter(ours).collect()
}

/// Returns those of the processes that have not ended, without this one.
pub(crate) fn running(pids: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Member> {
    let others = pids.into_iter().filter(|pid| *pid != std::process::id());
    let members = others.filter_map(|pid| {
        let figures = Figures::of(pid).ok().flatten()?;
        Some(Member { pid, figures })
    });
    members.filter(|it| !it.figures.has_ended)
}

/// Returns the numbers of all processes.
pub(crate) fn everyone() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::group::cgroup::PROCESSES;
    use crate::group::hierarchy::Mounts;
    use crate::group::hierarchy::tests::mounts;
    use terrace_base::mountinfo;

    /// A shell that starts another, which goes on for a while; and the number of the other.
    fn family(script: &str) -> (Child, u32) {
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut printed = BufReader::new(shell.stdout.as_mut().unwrap());
        printed.read_line(&mut line).unwrap();
        (shell, line.trim().parse().unwrap())
    }

    fn of(root: u32) -> Members {
        let started = Figures::of(root).unwrap().unwrap().started;
        Members::of(Scope::Tree { root, started })
    }

    fn pids(members: &Members) -> Vec<u32> {
        let mut pids: Vec<_> = members.list().iter().map(|it| it.pid).collect();
        pids.sort_unstable();
        pids
    }

    fn kept(members: &Members, mut faults: Vec<u32>) -> Vec<u32> {
        members.retain(|pid| *pid, &mut faults);
        faults
    }

    #[test]
    fn descendants_are_members_also_when_their_parents_have_ended() {
        let (mut shell, child) =
            family("(echo $(exec sh -c 'echo $PPID'); read go; exec sleep 60) <&0 & wait");
        let members = of(shell.id());
        let others = [1, std::process::id(), u32::MAX];
        assert!(pids(&members).contains(&shell.id()) && pids(&members).contains(&child));
        assert_eq!(
            kept(&members, vec![1, child, others[1], shell.id(), others[2]]),
            [child, shell.id()]
        );
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert_eq!(pids(&members), [child], "its parent is another now");
        assert_eq!(kept(&members, vec![shell.id(), child]), [child]);
        // SAFETY: kill takes two integers; whoever has this number now is a member still.
        unsafe { libc::kill(child as i32, libc::SIGKILL) };
        while !pids(&members).is_empty() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_new_child_is_known_by_its_parents() {
        let (mut shell, _) = family("echo $$; read go; sleep 60 & echo $!; wait");
        let members = of(shell.id());
        assert_eq!(pids(&members), [shell.id()]);
        std::io::Write::write_all(shell.stdin.as_mut().unwrap(), b"go\n").unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let child: u32 = line.trim().parse().unwrap();
        assert_eq!(
            kept(&members, vec![child, 1]),
            [child],
            "before it is listed"
        );
        assert_eq!(pids(&members).len(), 2);
        // SAFETY: kill takes two integers; the shell still waits for this child.
        unsafe { libc::kill(child as i32, libc::SIGKILL) };
        shell.wait().unwrap();
    }

    #[test]
    fn a_number_that_is_used_again_is_no_member() {
        let own = std::process::id();
        let parent = std::os::unix::process::parent_id();
        let members = Members::of(Scope::Tree {
            root: parent,
            started: 0,
        });
        assert_eq!(pids(&members), [] as [u32; 0]);
        assert_eq!(kept(&members, vec![own, parent]), [] as [u32; 0]);
    }

    #[test]
    fn faults_are_counted_from_the_first_call_on_also_beyond_the_end_of_a_member() {
        let (mut shell, _) = family(
            "echo $$; read go; for i in 1 2 3 4 5 6 7 8 9; do (:); done; echo done; sleep 60",
        );
        let members = of(shell.id());
        members.list();
        let mut count = members.fault_counter();
        assert_eq!(count(), Some(0));
        std::io::Write::write_all(shell.stdin.as_mut().unwrap(), b"go\n").unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let counted = count();
        assert!(counted > Some(10), "forks fault: {counted:?}");
        for child in members.list().iter().filter(|it| it.pid != shell.id()) {
            // SAFETY: kill takes two integers; the shell still waits for this child.
            unsafe { libc::kill(child.pid as i32, libc::SIGKILL) };
        }
        shell.kill().unwrap();
        shell.wait().unwrap();
        members.list();
        assert!(count() >= counted, "what was counted stays");
        let mut known = lock(&members.known);
        known.members = (1..=MOST_COUNTED as u32 + 1).map(|pid| (pid, 0)).collect();
        drop(known);
        assert_eq!(count(), None);
    }

    #[test]
    fn members_of_a_group() {
        let (shell, mut sleeper) = {
            let (shell, _) = family("echo $$; exec sleep 60");
            (shell.id(), shell)
        };
        let (top, text) = mounts(&[("/", "memory", "cgroup", "rw,memory")]);
        let group = top.path().join("memory");
        fs::write(
            group.join(PROCESSES),
            format!("{shell}\n{}\n", std::process::id()),
        )
        .unwrap();
        let mounts = Mounts::among(&mountinfo::parse(text.as_bytes()));
        let hierarchy = mounts.all().next().unwrap().clone();
        let members = Members::of(Scope::Group { hierarchy, group });
        assert_eq!(pids(&members), [shell], "without this process");
        assert_eq!(kept(&members, vec![shell, u32::MAX]), [shell]);
        sleeper.kill().unwrap();
        // It ends, though nobody has waited for it.
        while !pids(&members).is_empty() {
            std::thread::yield_now();
        }
        sleeper.wait().unwrap();
    }
}
