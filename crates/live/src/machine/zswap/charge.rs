//! The pool of zswap as part of a program's budget under version 1 of cgroups, which charges it to
//! nobody: the program's limit of DRAM is lowered by what the pool takes, as version 2 does by
//! charging it.
//!
//! At least half of the budget stays the program's: a pool that cannot compress grows by what
//! leaves the program, and would take all of it. What it takes beyond that is reported. After a
//! `kill -9` of Terrace the limit stays as it was then, until the program ends.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::pool;
use crate::machine::pool::Pool;
use crate::system::worker::Worker;
use terrace_base::{Bytes, Result};
use terrace_policy::PAGE_BYTES;

/// Pause between two looks at the pool when the limit need not follow it.
const PAUSE: Duration = Duration::from_millis(4);
/// The most by which the limit is lowered at once: what the kernel reclaims at once. It does not
/// reach a limit further below the use of a program that takes back what is reclaimed.
const STEP: Bytes = Bytes(32 * PAGE_BYTES);
/// Part of the budget by which the pool changes before the limit follows.
const TOLERANCE: u64 = 256;

/// Keeps the limit of DRAM and the pool together within the budget, until dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    dram: Bytes,
    /// The limit now, in bytes.
    limit: Arc<AtomicU64>,
    _worker: Worker,
}

impl Charge {
    /// Starts to keep the limit in `file`, of a group with this budget; `before` is what was in the
    /// pool already.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn keep(file: PathBuf, dram: Bytes, before: Pool) -> Result<Self> {
        let limit = Arc::new(AtomicU64::new(dram.0));
        let shown = Arc::clone(&limit);
        let worker = Worker::start("terrace-zswap", move |stop| {
            while !stop.load(Ordering::Relaxed) {
                let now = Bytes(shown.load(Ordering::Relaxed));
                let next = next(now, dram, pool::read().since(before).taken);
                if next != now && fs::write(&file, next.0.to_string()).is_ok() {
                    shown.store(next.0, Ordering::Relaxed);
                } else {
                    thread::park_timeout(PAUSE);
                }
            }
        })?;
        Ok(Self {
            dram,
            limit,
            _worker: worker,
        })
    }

    /// Returns how much of a pool that takes `taken` is beyond the budget now.
    pub fn beyond(&self, taken: Bytes) -> Bytes {
        let limit = self.limit.load(Ordering::Relaxed);
        Bytes((limit + taken.0).saturating_sub(self.dram.0))
    }
}

/// Returns the limit that follows the limit `now`.
fn next(now: Bytes, dram: Bytes, taken: Bytes) -> Bytes {
    let wanted = Bytes(dram.0.saturating_sub(taken.0).max(dram.0 / 2));
    match wanted.0.abs_diff(now.0) <= dram.0 / TOLERANCE {
        true => now,
        false => wanted.max(Bytes(now.0.saturating_sub(STEP.0))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_limit_goes_down_by_steps_and_up_at_once() {
        let dram = Bytes(64 * MIB);
        let after = |now: u64, taken: u64| next(Bytes(now * MIB), dram, Bytes(taken * MIB));
        assert_eq!(after(64, 0), dram);
        assert_eq!(after(64, 20), Bytes(dram.0 - STEP.0));
        assert_eq!(after(44, 20), Bytes(44 * MIB));
        assert_eq!(after(44, 5), Bytes(59 * MIB));
        let half = Bytes(32 * MIB);
        assert_eq!(after(32, 1000), half, "half is the program's");
        let little = Bytes(dram.0 / TOLERANCE);
        assert_eq!(next(dram, dram, little), dram);
    }

    #[test]
    fn a_pool_that_stays_empty_leaves_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("limit");
        let full = Pool {
            taken: Bytes(u64::MAX),
            ..Pool::default()
        };
        let charge = Charge::keep(file.clone(), Bytes(8 * MIB), full).unwrap();
        let since = Instant::now();
        while since.elapsed() < 4 * PAUSE {
            thread::yield_now();
        }
        assert_eq!(charge.beyond(Bytes(3 * MIB)), Bytes(3 * MIB));
        drop(charge);
        assert!(!file.exists());
    }
}
