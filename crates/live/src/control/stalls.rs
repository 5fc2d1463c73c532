//! How long a service stands still for memory.
//!
//! Version 2 of cgroups has the kernel's pressure stall information of a group («some»: at least
//! one of its threads waits). Elsewhere the waits at faults are measured and divided by the threads
//! that ran: a service of one busy thread and twenty idle ones has one. With times of running `t`
//! that number is `(sum t)^2 / sum t^2`.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustc_hash::FxHashMap;
use terrace_base::Result;

use super::machine::Machine;
use super::pressure::total;
use crate::group::hierarchy::Version;
use crate::group::members::{Member, Members};
use crate::watch::faults::Whose;
use crate::watch::waits::{Measured, Share, Waits};

/// What tells the stalls of a service.
pub(super) struct Stalls {
    source: Source,
    waits: Option<Waits>,
    threads: Threads,
    lost: u64,
}

enum Source {
    /// The file of the group, and its count at the look before.
    Pressure(PathBuf, Duration),
    /// Waits at all of its faults.
    Waits,
    /// Waits at its faults while there are some, measured with those of other services.
    Shared(Share, Machine),
}

/// Which waits are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measuring {
    /// Those at all faults.
    All,
    /// Those at all faults, if nothing else tells the stalls.
    Untold,
    /// Those of all services of a process by one stream, while there are some, if nothing else
    /// tells the stalls.
    Shared,
}

/// What the stalls of a service are known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallSource {
    /// The kernel's pressure stall information of the group.
    Pressure,
    /// Measured waits at faults.
    Waits,
}

impl StallSource {
    /// Returns its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pressure => "pressure",
            Self::Waits => "waits",
        }
    }
}

impl fmt::Display for StallSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pressure => "the kernel's pressure stall information («some» of the group)",
            Self::Waits => "measured waits at faults, divided by the threads that ran",
        })
    }
}

impl Stalls {
    /// Finds what tells the stalls of these processes, which may have a group of their own.
    ///
    /// # Errors
    /// A failure if waits have to be measured and cannot be.
    pub fn of(
        group: Option<(&std::path::Path, Version)>,
        members: &Members,
        machine: &Machine,
        measuring: Measuring,
    ) -> Result<Self> {
        let pressure = group.and_then(|(group, version)| {
            let file = group.join("memory.pressure");
            (version == Version::V2).then_some(())?;
            let total = total(&fs::read_to_string(&file).ok()?, "some")?;
            Some(Source::Pressure(file, total))
        });
        let all = match measuring {
            Measuring::All => true,
            Measuring::Untold => pressure.is_none(),
            Measuring::Shared => false,
        };
        let waits = all.then(|| Waits::measure(&Whose::Members(members.clone())));
        let waits = waits.transpose()?;
        let source = match (pressure, &waits) {
            (Some(pressure), _) => pressure,
            (None, Some(_)) => Source::Waits,
            (None, None) => {
                let share = machine.waits().follow(members.clone())?;
                Source::Shared(share, machine.clone())
            }
        };
        Ok(Self {
            source,
            waits,
            threads: Threads::default(),
            lost: 0,
        })
    }

    /// Returns what they are known from.
    pub fn source(&self) -> StallSource {
        match self.source {
            Source::Pressure(..) => StallSource::Pressure,
            Source::Waits | Source::Shared(..) => StallSource::Waits,
        }
    }

    /// Returns the stalls since the call before, in which there were so many major faults.
    ///
    /// # Errors
    /// A failure if waits have to be measured from now on and cannot be.
    pub fn since(&mut self, members: &[Member], major_faults: u64) -> Result<Duration> {
        Ok(match &mut self.source {
            Source::Pressure(file, before) => {
                let text = fs::read_to_string(file).unwrap_or_default();
                let now = total(&text, "some").unwrap_or(*before);
                now.saturating_sub(std::mem::replace(before, now))
            }
            Source::Waits => {
                let recent = self.waits.as_ref().map(Waits::take_recent);
                let recent = recent.unwrap_or_default();
                self.lost += recent.lost;
                let threads = self.threads.that_ran(members);
                recent.waits.total.div_f64(threads.max(1.0))
            }
            Source::Shared(share, machine) => {
                let waited = share.since(major_faults, machine.presses())?;
                self.lost += waited.lost;
                match waited.total.is_zero() {
                    true => Duration::ZERO,
                    false => waited
                        .total
                        .div_f64(self.threads.that_ran(members).max(1.0)),
                }
            }
        })
    }

    /// Returns the faults whose waits are not known, as events came faster than they were read.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns all waits that were measured, of so many faults.
    pub fn finish(self, faults: u64) -> Option<Measured> {
        self.waits.map(|waits| waits.finish(faults))
    }
}

/// Times of running of threads at the look before, in nanoseconds.
#[derive(Default)]
struct Threads(FxHashMap<u32, u64>);

impl Threads {
    /// Returns the number of threads that ran since the call before, or since they began, by their
    /// shares.
    fn that_ran(&mut self, members: &[Member]) -> f64 {
        let pids = members.iter().map(|it| it.pid);
        let now: FxHashMap<u32, u64> = pids.flat_map(times).collect();
        let ran = now.iter().map(|(thread, time)| {
            let before = self.0.get(thread).copied().unwrap_or(0);
            time.saturating_sub(before) as f64
        });
        let count = effective(ran);
        self.0 = now;
        count
    }
}

/// Returns the number of equal parts that are as uneven together as these.
fn effective(parts: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = parts.fold((0.0, 0.0), |(sum, squares), part| {
        (sum + part, squares + part * part)
    });
    match squares > 0.0 {
        true => sum * sum / squares,
        false => 0.0,
    }
}

/// Returns the threads of a process and how long each ran (Documentation/scheduler/sched-stats.rst,
/// first field of schedstat).
fn times(pid: u32) -> Vec<(u32, u64)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    tasks
        .filter_map(|task| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            let time = text.split(' ').next()?.parse().ok()?;
            Some((task.file_name().to_str()?.parse().ok()?, time))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_threads_do_not_count() {
        let of = |parts: &[f64]| effective(parts.iter().copied());
        assert_eq!(of(&[5.0, 0.0, 0.0]), 1.0);
        assert_eq!(of(&[3.0, 3.0, 3.0, 3.0]), 4.0);
        assert!((1.0..1.1).contains(&of(&[100.0, 1.0, 1.0])));
        assert_eq!(of(&[]), 0.0);
    }

    #[test]
    fn our_own_threads_ran() {
        let mut sum = 0_u64;
        (0..5_000_000_u64).for_each(|number| sum = sum.wrapping_mul(31).wrapping_add(number));
        assert_ne!(sum, 0);
        assert!(times(std::process::id()).iter().any(|(_, time)| *time > 0));
        assert_eq!(times(u32::MAX), []);
    }
}
