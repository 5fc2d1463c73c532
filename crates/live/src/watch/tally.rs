//! What steering saw and did, by process.

use std::cmp::Reverse;
use std::fs;

use rustc_hash::FxHashMap;
use terrace_policy::Space;
use terrace_policy::prefetch::Outcome;

/// Processes that have ended which are kept one by one: those with the most faults and fetches.
const MOST: usize = 1000;

/// Figures of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessFigures {
    /// Number of the process; 0 for the sum of those that are not kept one by one.
    pub pid: u32,
    /// Name, by `/proc/PID/comm`; empty if it had ended when it was asked for.
    pub name: String,
    /// Major faults that steering saw.
    pub faults: u64,
    /// Pages fetched ahead.
    pub fetched: u64,
    /// Fetched pages that were touched after they had arrived.
    pub used: u64,
    /// Fetched pages that were touched before they had arrived.
    pub late: u64,
    /// Fetches that read nothing, because a demand fault had begun to read the page.
    pub reissued: u64,
    /// Fetched pages that were evicted, or whose process ended, before they were touched.
    pub wasted: u64,
}

/// The figures of all processes so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    running: FxHashMap<Space, ProcessFigures>,
    ended: Vec<ProcessFigures>,
}

impl Tally {
    /// Counts a major fault. The name is asked for again ever more rarely: a process may become
    /// another program.
    pub fn fault(&mut self, space: Space) {
        let process = self.of(space);
        process.faults += 1;
        if process.faults.is_power_of_two()
            && let Ok(name) = fs::read_to_string(format!("/proc/{}/comm", space.0))
        {
            name.trim_end().clone_into(&mut process.name);
        }
    }

    /// Counts pages that are being fetched.
    pub fn fetched(&mut self, space: Space, pages: usize) {
        self.of(space).fetched += pages as u64;
    }

    /// Counts the end of a fetched page.
    pub fn end(&mut self, space: Space, outcome: Outcome) {
        let process = self.of(space);
        match outcome {
            Outcome::Used => process.used += 1,
            Outcome::Late => process.late += 1,
            Outcome::Reissued => process.reissued += 1,
            Outcome::Wasted => process.wasted += 1,
        }
    }

    /// Closes the figures of a process that has ended; one of the same number is another.
    pub fn forget(&mut self, space: Space) {
        if let Some(process) = self.running.remove(&space) {
            self.ended.push(process.closed());
            if self.ended.len() >= 2 * MOST {
                self.ended = most_of(std::mem::take(&mut self.ended));
            }
        }
    }

    /// Returns the figures of all processes, those with the most faults and fetches first.
    pub fn finish(self) -> Vec<ProcessFigures> {
        let running = self.running.into_values().map(ProcessFigures::closed);
        most_of(self.ended.into_iter().chain(running).collect())
    }

    fn of(&mut self, space: Space) -> &mut ProcessFigures {
        self.running.entry(space).or_insert_with(|| ProcessFigures {
            pid: space.0,
            ..ProcessFigures::default()
        })
    }
}

impl ProcessFigures {
    /// Counts the pages whose end is unknown as wasted.
    fn closed(mut self) -> Self {
        let touched = self.used + self.late + self.reissued;
        self.wasted = self.fetched.saturating_sub(touched);
        self
    }

    fn add(&mut self, other: &Self) {
        self.faults += other.faults;
        self.fetched += other.fetched;
        self.used += other.used;
        self.late += other.late;
        self.reissued += other.reissued;
        self.wasted += other.wasted;
    }
}

/// Sorts, and makes one of all but the first.
fn most_of(mut all: Vec<ProcessFigures>) -> Vec<ProcessFigures> {
    all.sort_by_key(|process| (process.pid == 0, Reverse(process.faults + process.fetched)));
    if all.len() > MOST {
        let mut rest = ProcessFigures {
            name: "others".to_owned(),
            ..ProcessFigures::default()
        };
        all.drain(MOST..).for_each(|process| rest.add(&process));
        all.push(rest);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_its_own() {
        let (here, other) = (Space(std::process::id()), Space(u32::MAX));
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.fault(here);
        }
        tally.fault(other);
        tally.fetched(here, 8);
        for outcome in [Outcome::Used, Outcome::Used, Outcome::Late] {
            tally.end(here, outcome);
        }
        tally.end(here, Outcome::Reissued);
        tally.end(here, Outcome::Wasted);
        // Ended, and another of the same number.
        tally.forget(here);
        tally.fetched(here, 1);
        let name = fs::read_to_string("/proc/self/comm").unwrap();
        let first = ProcessFigures {
            pid: here.0,
            name: name.trim_end().to_owned(),
            faults: 3,
            fetched: 8,
            used: 2,
            late: 1,
            reissued: 1,
            wasted: 4,
        };
        let all = tally.finish();
        assert_eq!(all[0], first);
        let others: Vec<_> = all[1..].iter().map(|p| (p.pid, p.wasted)).collect();
        assert!(others.contains(&(here.0, 1)) && others.contains(&(other.0, 0)));
    }

    #[test]
    fn of_a_storm_of_processes_those_with_most_are_kept() {
        let mut tally = Tally::default();
        let busy = Space(u32::MAX);
        tally.fetched(busy, 7);
        for pid in 1..=5 * MOST as u32 {
            let space = Space(u32::MAX - pid);
            tally.fetched(space, 1);
            tally.forget(space);
        }
        assert!(tally.ended.len() < 2 * MOST);
        let all = tally.finish();
        assert_eq!(all.len(), MOST + 1);
        assert_eq!((all[0].pid, all[0].fetched), (busy.0, 7));
        assert_eq!((all[MOST].pid, &*all[MOST].name), (0, "others"));
        let fetched: u64 = all.iter().map(|process| process.fetched).sum();
        assert_eq!(fetched, 5 * MOST as u64 + 7);
    }
}
