//! The pool of zswap: how much it holds, and what it served.

use std::fs;

use terrace_base::Bytes;
use terrace_base::memory::meminfo;

use super::PARAMETERS;
use crate::group::counters::SwapCounters;
use crate::machine::pool::Pool;

/// Reads the pool, the machine's as a whole; empty where the kernel does not tell (before Linux
/// 5.19).
pub fn read() -> Pool {
    Pool {
        taken: meminfo("Zswap:").unwrap_or_default(),
        held: meminfo("Zswapped:").unwrap_or_default(),
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
    /// Returns what zswap did, by the counters and the largest pool of a run, and what of it was
    /// beyond the budget; `None` if it is off and did nothing.
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

    #[test]
    fn pages_that_moved_are_told_even_if_zswap_is_off_by_now() {
        let counted = SwapCounters {
            zswap_stores: 7,
            zswap_loads: 5,
            zswap_written_back: 1,
            ..SwapCounters::default()
        };
        let peak = Pool {
            taken: Bytes(20),
            held: Bytes(50),
        };
        let served = Served::of(counted, peak, Bytes(3)).unwrap();
        assert_eq!(
            (served.stores, served.loads, served.written_back),
            (7, 5, 1)
        );
        assert_eq!((served.peak.held, served.beyond), (Bytes(50), Bytes(3)));
    }
}
