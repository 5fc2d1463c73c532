//! A task whose scheduling is changed, with what was found.
//!
//! Of a task only its policy (to `SCHED_IDLE` and back) and its slice are changed; the CPUs that it
//! may use only for the moment in which it is moved to one of them. What is put back is what still
//! looks like that: a task that has chosen another policy by itself keeps it.

use std::fmt;
use std::io;
use std::path::Path;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use terrace_base::process::Figures;
use terrace_base::{Context, Result};

use super::attributes::{Attributes, IDLE, SLICES_NS, has_slices};
use super::population::threads_of;
use crate::group::members::{Member, everyone, running};
use crate::journal::{Change, DeadRun};
use crate::system::cpus::Cpus;
use crate::system::lock::Say;

/// A task, and the attributes that it was found with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// Its process.
    pub pid: u32,
    /// Its thread.
    pub tid: u32,
    /// Start time, in clock ticks since boot, which tells it from a later one of the same number.
    pub started: u64,
    /// Its attributes.
    pub found: Attributes,
}

/// What happened to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// It was made.
    Yes,
    /// The task has ended.
    Gone,
    /// The task has chosen a policy by itself, or the kernel refused the change: it is left alone.
    Refused,
}

impl Held {
    /// Whether the task is still there.
    pub fn is_there(&self) -> bool {
        let figures = Figures::of(self.tid).ok().flatten();
        figures.is_some_and(|it| it.started == self.started && !it.has_ended)
    }

    /// Lets the task run by the policy that it was found with, in the longest slice, and moves it
    /// to one of the CPUs that it may use.
    pub(crate) fn favour(&self, cpu: usize) -> Changed {
        let moved = Cpus::of(self.tid).and_then(|all| match all.count() {
            1 => Ok(()),
            _ => Cpus::one(cpu)
                .set(self.tid)
                .and_then(|()| all.set(self.tid)),
        });
        // A task that cannot be moved has its turn where it is.
        let _ = moved;
        let longest = has_slices().then_some(SLICES_NS.1);
        self.change(|now| Attributes {
            policy: self.found.policy,
            slice_ns: longest.unwrap_or(now.slice_ns),
            ..now
        })
    }

    /// Lets the task run only where no other task wants to.
    pub(crate) fn defer(&self) -> Changed {
        self.change(|now| Attributes {
            policy: IDLE,
            ..now
        })
    }

    /// Gives the task a slice, in nanoseconds.
    pub(crate) fn slice(&self, slice_ns: u64) -> Changed {
        self.change(|now| Attributes { slice_ns, ..now })
    }

    fn change(&self, wanted: impl FnOnce(Attributes) -> Attributes) -> Changed {
        let now = match Attributes::of(self.tid) {
            Ok(now) => now,
            Err(_) => return Changed::Gone,
        };
        if ![IDLE, self.found.policy].contains(&now.policy) {
            return Changed::Refused;
        }
        let wanted = wanted(now);
        let done = match wanted == now {
            true => Ok(()),
            false => wanted.apply(self.tid),
        };
        match done {
            Ok(()) => Changed::Yes,
            Err(error) if is_gone(&error) => Changed::Gone,
            Err(_) => Changed::Refused,
        }
    }

    /// Puts back what was found; nothing happens to a task that has ended.
    ///
    /// # Errors
    /// The kernel's, as for want of the privilege to leave `SCHED_IDLE`.
    pub fn put_back(&self) -> io::Result<()> {
        if !self.is_there() {
            return Ok(());
        }
        self.lend(self.tid)
    }

    /// Gives what was found to another task, which has inherited what this one was set to.
    ///
    /// # Errors
    /// See [`Held::put_back`].
    pub fn lend(&self, tid: u32) -> io::Result<()> {
        let done = Attributes::of(tid).and_then(|now| match put_back(now, &self.found) {
            wanted if wanted == now => Ok(()),
            wanted => wanted.apply(tid),
        });
        match done {
            Err(error) if is_gone(&error) => Ok(()),
            done => done,
        }
    }

    /// Whether nothing has to be put back.
    pub fn is_put_back(&self) -> bool {
        let now = || Attributes::of(self.tid).ok();
        !self.is_there() || now().is_none_or(|now| put_back(now, &self.found) == now)
    }
}

/// How tasks are scheduled was changed; this is what was found.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Scheduling(pub Vec<Held>);

#[typetag::serde(name = "scheduling")]
impl Change for Scheduling {
    /// One record names all tasks.
    fn subject(&self) -> Option<String> {
        Some(String::new())
    }

    fn is_undone(&self) -> bool {
        self.0.iter().all(Held::is_put_back)
    }

    fn found(&self) -> String {
        format!("{self} is changed")
    }

    fn undone(&self) -> String {
        format!("{self} is as before")
    }

    fn undo(&self, _run: &DeadRun, _say: Say) -> Result<()> {
        put_back_all(&self.0).or_fail(|| "they cannot be put back".into())
    }

    fn is_the_programs(&self) -> bool {
        false
    }

    fn outlasts_stops(&self) -> bool {
        false
    }

    /// Its process changes the tasks again when it goes on; if it is killed, they are put back
    /// again.
    fn suspend(&self, _state: &Path, _owner: u32) {
        let _ = put_back_all(&self.0);
    }
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks: Vec<_> = self.0.iter().map(|task| task.tid.to_string()).collect();
        write!(f, "the scheduling of the tasks {}", tasks.join(", "))
    }
}

/// Puts all tasks back, and those that they have started, which inherited what these were set to.
///
/// # Errors
/// The first of the kernel's; the other tasks are put back all the same.
pub fn put_back_all(tasks: &[Held]) -> io::Result<()> {
    let mut done = Ok(());
    for task in tasks {
        let back = task.put_back();
        done = done.and(back);
    }
    // A task may have started another just before it was put back, but not after.
    for (heir, of) in heirs(tasks) {
        let back = tasks[of].lend(heir);
        done = done.and(back);
    }
    done
}

/// Returns the threads of the same processes and of their descendants that only run where no other
/// task wants to, each with the index of the task from which they may have that.
fn heirs(tasks: &[Held]) -> Vec<(u32, usize)> {
    let all: Vec<Member> = running(everyone()).collect();
    let mut families: FxHashMap<u32, usize> = FxHashMap::default();
    let owners = tasks.iter().enumerate().filter(|(_, task)| task.is_there());
    families.extend(owners.map(|(index, task)| (task.pid, index)));
    // Numbers of children may be below those of their parents: repeated until no more are found.
    loop {
        let before = families.len();
        for it in &all {
            if let Some(&of) = families.get(&it.figures.parent) {
                families.entry(it.pid).or_insert(of);
            }
        }
        if families.len() == before {
            break;
        }
    }
    let is_held = |tid: u32| tasks.iter().any(|task| task.tid == tid);
    let deferred = |tid: u32| Attributes::of(tid).is_ok_and(|now| now.policy == IDLE);
    let threads = families
        .iter()
        .flat_map(|(&pid, &of)| threads_of(pid).map(move |tid| (tid, of)));
    threads
        .filter(|&(tid, _)| !is_held(tid) && deferred(tid))
        .collect()
}

/// Whether a task cannot be changed because it has ended.
fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

/// Returns the attributes that a task should have, which was found with others and has these now.
fn put_back(now: Attributes, found: &Attributes) -> Attributes {
    Attributes {
        policy: match now.policy {
            IDLE => found.policy,
            own => own,
        },
        slice_ns: found.slice_ns,
        ..now
    }
}

#[cfg(test)]
mod tests {
    use super::super::attributes::{BATCH, OTHER};
    use super::*;

    fn attributes(policy: u32) -> Attributes {
        Attributes {
            policy,
            flags: 0,
            nice: 0,
            slice_ns: 0,
        }
    }

    #[test]
    fn what_we_set_is_put_back_and_what_the_task_chose_stays() {
        let found = attributes(OTHER);
        let back = |now| put_back(now, &found);
        assert_eq!(back(attributes(IDLE)), found);
        assert_eq!(back(found), found);
        assert_eq!(back(attributes(BATCH)), attributes(BATCH));
        let sliced = Attributes {
            slice_ns: 30_000_000,
            nice: 5,
            ..found
        };
        assert_eq!(back(sliced), Attributes { nice: 5, ..found });
    }

    #[test]
    fn a_task_that_has_ended_needs_nothing() {
        let held = Held {
            pid: u32::MAX >> 1,
            tid: u32::MAX >> 1,
            started: 1,
            found: attributes(OTHER),
        };
        held.put_back().unwrap();
        assert!(held.is_put_back());
        assert_eq!(held.defer(), Changed::Gone);
    }
}
