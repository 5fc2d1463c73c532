//! Faults of processes, by the kernel's counts of each, from a moment on.

use rustc_hash::FxHashMap;
use terrace_base::process::Figures;

use crate::group::members::Member;

/// Lists that a process may be missing from before its counts are settled: one list can miss a
/// process that runs, and if that one came back as a new one its faults would count twice.
const MISSED: u64 = 16;

/// The kernel's counts of the faults of processes, by number and start time. What is kept is
/// bounded by the processes that run at a time, however long it goes on.
#[derive(Debug, Default)]
pub(crate) struct FaultCounts {
    running: FxHashMap<(u32, u64), Counted>,
    /// Of those that have ended.
    ended: Counts,
    processes: u64,
    lists: u64,
}

/// A process: its counts at first and at last, and the number of the list that last had it.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    counts: [Counts; 2],
    list: u64,
}

impl Counted {
    fn since(&self) -> Counts {
        let [first, last] = self.counts;
        Counts {
            all: last.all.saturating_sub(first.all),
            major: last.major.saturating_sub(first.major),
        }
    }
}

/// Faults of a process, or of several.
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

    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.major += other.major;
    }
}

impl FaultCounts {
    /// Notes the counts of those that are there when it begins.
    pub fn begin(&mut self, members: &[Member]) {
        for Member { pid, figures } in members {
            let counts = [Counts::of(figures); 2];
            let counted = Counted { counts, list: 0 };
            self.running.insert((*pid, figures.started), counted);
            self.processes += 1;
        }
    }

    /// Notes the present counts; a process that was not there before has begun at zero.
    pub fn add(&mut self, members: &[Member]) {
        self.lists += 1;
        for Member { pid, figures } in members {
            let process = self.running.entry((*pid, figures.started));
            let counted = process.or_insert_with(|| {
                self.processes += 1;
                Counted::default()
            });
            counted.counts[1] = Counts::of(figures);
            counted.list = self.lists;
        }
        let (lists, ended) = (self.lists, &mut self.ended);
        self.running.retain(|_, counted| {
            let may_run = lists - counted.list <= MISSED;
            if !may_run {
                ended.add(counted.since());
            }
            may_run
        });
    }

    /// Returns the number of processes that were listed.
    pub fn processes(&self) -> u64 {
        self.processes
    }

    /// Returns the faults of all kinds.
    pub fn faults(&self) -> u64 {
        self.sum().all
    }

    /// Returns the major faults.
    pub fn major_faults(&self) -> u64 {
        self.sum().major
    }

    fn sum(&self) -> Counts {
        let mut sum = self.ended;
        let running = self.running.values();
        running.for_each(|counted| sum.add(counted.since()));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(pid: u32, started: u64, major_faults: u64) -> Member {
        let figures = Figures {
            state: 'S',
            has_ended: false,
            is_ending: false,
            parent: 1,
            minor_faults: 1000 + major_faults,
            major_faults,
            started,
            resident: 0,
        };
        Member { pid, figures }
    }

    #[test]
    fn faults_are_counted_from_the_beginning_on() {
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

    #[test]
    fn nothing_is_kept_of_those_that_ended_long_ago_but_their_faults() {
        let mut counts = FaultCounts::default();
        let lasting = member(1, 1, 10);
        counts.begin(&[lasting]);
        for pid in 2..1000 {
            // One list in eight misses the process that lasts.
            let ended = member(pid, u64::from(pid), 3);
            match pid % 8 {
                0 => counts.add(&[ended]),
                _ => counts.add(&[ended, lasting]),
            }
        }
        counts.add(&[member(1, 1, 15)]);
        assert_eq!(counts.major_faults(), 998 * 3 + 5);
        assert_eq!(counts.faults(), 998 * (1000 + 2 * 3) + 2 * 5);
        assert_eq!(counts.processes(), 999);
        assert!(counts.running.len() < 20, "{}", counts.running.len());
    }
}
