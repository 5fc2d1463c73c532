//! Keeps the kernel's statistics of a group up to date: stale statistics make the OOM killer kill
//! programs that have enough memory.
//!
//! Linux keeps the pages of a group in an active and an inactive list, and evicts from the inactive
//! list. It moves active pages there when the inactive list is short by statistics that it flushes
//! every two seconds, or when they are read (mm/vmscan.c, `inactive_is_low` and
//! `prepare_scan_control`; mm/memcontrol.c, `mem_cgroup_flush_stats`). A program that swaps to fast
//! memory empties the inactive list in a few milliseconds. If its group has no file pages either,
//! reclaim scans nothing (`shrink_lruvec`), fails eighteen times in a row within a millisecond, and
//! the program is killed, although its whole active list could be evicted and the tier has room.
//! This happens without prefetching, too.
//!
//! So a thread reads the statistics, which flushes them, before half of the inactive list can have
//! been scanned, or within the time of those eighteen tries. Linux skips the flush while fewer than
//! 64 changes a processor are pending: for the smallest budgets of a machine with many processors
//! this does not help.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use terrace_base::{Bytes, Context, Result};

use crate::group::cgroup::value_of;
use crate::system::worker::Worker;

/// Shortest time in which a processor scans a page of the inactive list: that of a page which was
/// used again and only moves to the active list.
const LOOK: Duration = Duration::from_nanos(300);
/// Shortest and longest pause between two reads, each of which takes some 30 us.
const EVERY: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(20));

/// Longest text of `memory.stat` that is read for the locked memory, which stands in its first
/// half.
const TEXT: usize = 8192;

/// A thread that keeps the statistics up to date; ends when dropped.
pub struct Accounts {
    locked: Arc<AtomicU64>,
    _thread: Worker,
}

impl Accounts {
    /// Starts the thread for a group with `budget` of DRAM; `statistics` is its `memory.stat`.
    ///
    /// # Errors
    /// A failure if the statistics cannot be read, or no thread can be started.
    pub fn keep(statistics: &Path, budget: Bytes) -> Result<Self> {
        let file = File::open(statistics);
        let file = file.or_fail(|| format!("cannot open {}", statistics.display()))?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let every = interval(budget, processors as u64);
        let locked = Arc::new(AtomicU64::new(0));
        let most = Arc::clone(&locked);
        let thread = Worker::start("terrace-accounts", move |stop| {
            go_first();
            let mut text = vec![0; TEXT];
            while !stop.load(Ordering::Relaxed) {
                // Reading flushes them.
                let length = file.read_at(&mut text, 0).unwrap_or(0);
                most.fetch_max(unevictable(&text[..length]), Ordering::Relaxed);
                std::thread::sleep(every);
            }
        })?;
        Ok(Self {
            locked,
            _thread: thread,
        })
    }

    /// Returns the most memory of the group so far that the kernel could not move away: what the
    /// program has locked (mlock(2)).
    pub fn locked(&self) -> Bytes {
        Bytes(self.locked.load(Ordering::Relaxed))
    }
}

/// Returns the bytes that cannot be moved away, from the text of `memory.stat`; 0 if it does not
/// say.
fn unevictable(text: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(text);
    let all = value_of(&text, "total_unevictable").or_else(|| value_of(&text, "unevictable"));
    all.unwrap_or(0)
}

/// Half of the time in which these processors scan the inactive list, taken as half of the budget:
/// below 1 GiB the kernel keeps both lists equally long, and beyond that the pause has its maximum
/// anyway.
fn interval(budget: Bytes, processors: u64) -> Duration {
    let inactive = budget.pages() / 2;
    let pages = (inactive / 2 / processors).min(1 << 20) as u32;
    (LOOK * pages).clamp(EVERY.0, EVERY.1)
}

/// Gives this thread a real-time priority, because a late read is useless. If that is refused the
/// thread keeps its ordinary priority.
fn go_first() {
    // SAFETY: an all-zero sched_param is a valid value of it.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = 1;
    // SAFETY: takes two integers and a pointer to a value that lives across the call; 0 is the
    // calling thread. Its children do not inherit the priority.
    unsafe {
        libc::sched_setscheduler(
            0,
            libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK,
            &raw const parameters,
        );
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_budgets_are_looked_at_more_often() {
        let of = |mib: u64, processors| interval(Bytes(mib << 20), processors).as_micros();
        assert_eq!([of(12, 2), of(80, 2), of(80, 8)], [500, 768, 500]);
        assert_eq!([of(1, 2), of(1 << 40, 1)], [500, 20_000], "the bounds");
    }

    #[test]
    fn it_ends_when_it_is_dropped() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "unevictable 1\ntotal_unevictable 8192\n").unwrap();
        let accounts = Accounts::keep(file.path(), Bytes(12 << 20)).unwrap();
        while accounts.locked() == Bytes(0) {
            std::thread::yield_now();
        }
        assert_eq!(
            accounts.locked(),
            Bytes(8192),
            "of the groups below as well"
        );
        drop(accounts);
        assert!(Accounts::keep(Path::new("/no/memory.stat"), Bytes(1)).is_err());
    }
}
