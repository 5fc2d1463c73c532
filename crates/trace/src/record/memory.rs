//! The memory of the emulator and of the processes that it emulates.

use std::fs;
use std::time::{Duration, Instant};

use terrace_base::{Bytes, memory};

/// The least time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A look may take this share of the time.
const SHARE: u32 = 20;

/// Returns the limit where none is given: half of what is available.
pub(super) fn default_limit() -> Bytes {
    Bytes(memory::available().0 / 2)
}

/// Looks at the memory of processes from time to time.
pub(super) struct Watch {
    limit: Bytes,
    next: Instant,
}

impl Watch {
    pub(super) fn of(limit: Bytes) -> Self {
        Self {
            limit,
            next: Instant::now(),
        }
    }

    /// Returns the limit.
    pub(super) fn limit(&self) -> Bytes {
        self.limit
    }

    /// Returns the memory of these processes, if it is time to look and that is more than the
    /// limit.
    pub(super) fn look(&mut self, processes: impl FnOnce() -> Vec<u32>) -> Option<Bytes> {
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        let mut processes = processes();
        processes.sort_unstable();
        processes.dedup();
        let taken = self.taken(&processes);
        self.next = Instant::now() + (now.elapsed() * SHARE).max(LOOK_EVERY);
        (taken > self.limit).then_some(taken)
    }

    /// Returns the memory of processes: at first glance, in which pages that several share count
    /// for each; and exactly where that is beyond the limit, because it takes a walk over their
    /// page tables.
    fn taken(&self, processes: &[u32]) -> Bytes {
        let glance = processes.iter().filter_map(|&pid| resident(pid)).sum();
        if Bytes(glance) <= self.limit {
            return Bytes(glance);
        }
        let exact = processes
            .iter()
            .map(|&pid| proportional(pid).or_else(|| resident(pid)));
        Bytes(exact.flatten().sum())
    }
}

/// Returns the bytes of a process in memory (proc_pid_statm(5)).
fn resident(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Bytes::of_pages(pages).0)
}

/// Returns the bytes of a process in memory, those that it shares divided by how many share them
/// (proc_pid_smaps(5)).
fn proportional(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let value = |name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(value("Pss:")? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_is_told() {
        let own = || vec![std::process::id()];
        assert_eq!(Watch::of(Bytes(1 << 50)).look(own), None);
        let mut watch = Watch::of(Bytes(4096));
        assert!(watch.look(own).is_some_and(|taken| taken > Bytes(4096)));
        assert_eq!(watch.look(|| panic!("it is not time yet")), None);
    }

    #[test]
    fn a_process_that_has_ended_takes_nothing() {
        assert_eq!((resident(u32::MAX), proportional(u32::MAX)), (None, None));
    }
}
