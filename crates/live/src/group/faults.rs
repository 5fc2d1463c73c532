//! Faults of processes, by the kernel's counts of each, from a moment on.

use rustc_hash::FxHashMap;
use terrace_base::process::Figures;

use crate::group::members::Member;

/// The kernel's counts of the faults of processes, by number and start time: at first, and at last.
#[derive(Debug, Default)]
pub(crate) struct FaultCounts(FxHashMap<(u32, u64), [Counts; 2]>);

/// The kernel's counts of the faults of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    all: u64,
    major: u64,
}

impl Counts {
    fn of(figures: &Figures) -> Self {
        Self {
            all: figures.minor_faults + figures.major_faults,
            major: figures.major_faults,
        }
    }
}

impl FaultCounts {
    /// Notes the counts of those that are there when it begins.
    pub fn begin(&mut self, members: &[Member]) {
        for Member { pid, figures } in members {
            let faults = Counts::of(figures);
            self.0.insert((*pid, figures.started), [faults; 2]);
        }
    }

    /// Notes the present counts; a process that was not there before has begun at zero.
    pub fn add(&mut self, members: &[Member]) {
        for Member { pid, figures } in members {
            let counts = self.0.entry((*pid, figures.started)).or_default();
            counts[1] = Counts::of(figures);
        }
    }

    /// Returns the number of processes that were listed.
    pub fn processes(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the faults of all kinds.
    pub fn faults(&self) -> u64 {
        self.since(|counts| counts.all)
    }

    /// Returns the major faults.
    pub fn major_faults(&self) -> u64 {
        self.since(|counts| counts.major)
    }

    fn since(&self, of: fn(&Counts) -> u64) -> u64 {
        let all = self.0.values();
        all.map(|[first, last]| of(last).saturating_sub(of(first)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_counted_from_the_beginning_on() {
        let member = |pid, started, major_faults| Member {
            pid,
            figures: Figures {
                state: 'S',
                has_ended: false,
                is_ending: false,
                parent: 1,
                minor_faults: 1000 + major_faults,
                major_faults,
                started,
                resident: 0,
            },
        };
        let mut counts = FaultCounts::default();
        counts.begin(&[member(4, 1, 100), member(5, 1, 10)]);
        assert_eq!(counts.major_faults(), 0);
        counts.add(&[member(4, 1, 150), member(6, 2, 7)]);
        // 5 has ended, and its number is used again.
        counts.add(&[member(5, 3, 2), member(4, 1, 160)]);
        assert_eq!((counts.major_faults(), counts.processes()), (60 + 7 + 2, 4));
        // Of those that are new, all of their minor ones.
        assert_eq!(counts.faults(), 2 * (60 + 7 + 2) + 2000);
    }
}
