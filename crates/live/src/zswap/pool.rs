//! The pool of zswap: how much it holds, and what it served.

use std::fs;

use terrace_base::Bytes;
use terrace_base::memory::meminfo;

use super::PARAMETERS;
use crate::counters::SwapCounters;

/// Memory of the pool, the machine's as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// DRAM that it takes.
    pub taken: Bytes,
    /// Size of the pages in it before they were compressed.
    pub held: Bytes,
}

impl Pool {
    /// Reads the pool; empty where the kernel does not tell (before Linux 5.19).
    pub fn read() -> Self {
        Self {
            taken: meminfo("Zswap:").unwrap_or_default(),
            held: meminfo("Zswapped:").unwrap_or_default(),
        }
    }

    /// Returns what was added since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        let more = |now: Bytes, then: Bytes| Bytes(now.0.saturating_sub(then.0));
        Self {
            taken: more(self.taken, earlier.taken),
            held: more(self.held, earlier.held),
        }
    }

    /// Returns the one that takes more DRAM.
    pub fn larger(self, other: Self) -> Self {
        match other.taken > self.taken {
            true => other,
            false => self,
        }
    }

    /// Returns how many times smaller the pages in it are than they were; `None` of an empty one.
    pub fn ratio(self) -> Option<f64> {
        (self.taken.0 > 0).then(|| self.held.0 as f64 / self.taken.0 as f64)
    }
}

/// What zswap did during a run, for the whole machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Served {
    /// Pages stored in the pool.
    pub stores: u64,
    /// Faults and fetches that the pool served.
    pub loads: u64,
    /// Pages that were written from the pool to the tier.
    pub written_back: u64,
    /// The pool when it took most (sampled), without what was in it before.
    pub peak: Pool,
    /// DRAM that the pool took beyond the budget, at most (sampled).
    pub beyond: Bytes,
}

impl Served {
    /// Returns what zswap did, by the counters and the largest pool of a run, and what of it was beyond the
    /// budget; `None` if it is off and did nothing.
    pub fn of(counted: SwapCounters, peak: Pool, beyond: Bytes) -> Option<Self> {
        let served = Self {
            stores: counted.zswap_stores,
            loads: counted.zswap_loads,
            written_back: counted.zswap_written_back,
            peak,
            beyond,
        };
        let idle = served.stores == 0 && served.loads == 0;
        (is_on() || !idle).then_some(served)
    }
}

/// Whether the machine uses zswap now.
fn is_on() -> bool {
    let enabled = fs::read_to_string(format!("{PARAMETERS}/enabled"));
    enabled.is_ok_and(|value| value.trim() == "Y")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(taken: u64, held: u64) -> Pool {
        Pool {
            taken: Bytes(taken),
            held: Bytes(held),
        }
    }

    #[test]
    fn the_largest_pool_of_a_run_without_what_was_in_it_before() {
        let before = pool(10, 30);
        let looks = [pool(10, 30), pool(30, 80), pool(25, 90), pool(5, 9)];
        let peak = looks.map(|look| look.since(before));
        let peak = peak.into_iter().fold(Pool::default(), Pool::larger);
        assert_eq!(peak, pool(20, 50));
        assert_eq!(peak.ratio(), Some(2.5));
        assert_eq!(Pool::default().ratio(), None);
    }

    #[test]
    fn pages_that_moved_are_told_even_if_zswap_is_off_by_now() {
        let counted = SwapCounters {
            zswap_stores: 7,
            zswap_loads: 5,
            zswap_written_back: 1,
            ..SwapCounters::default()
        };
        let served = Served::of(counted, pool(20, 50), Bytes(3)).unwrap();
        assert_eq!(
            (served.stores, served.loads, served.written_back),
            (7, 5, 1)
        );
        assert_eq!((served.peak.held, served.beyond), (Bytes(50), Bytes(3)));
    }
}
