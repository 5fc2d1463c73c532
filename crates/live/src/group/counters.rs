//! The kernel's counters of swapping.

use std::fs;

use crate::group::cgroup::value_of;

/// Counters of swapping of the whole machine since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwapCounters {
    /// Pages read from swap areas.
    pub read: u64,
    /// Pages that came back without a read: of zeros, or compressed in front of the areas (zswap).
    pub unread: u64,
    /// Pages written to swap areas.
    pub written: u64,
    /// Pages of zeros that left memory; they are not written to swap areas (Linux 6.12, which
    /// counts them).
    pub zeros: u64,
    /// Pages read ahead because a neighbour faulted.
    pub readahead: u64,
    /// Pages read ahead that were then touched.
    pub readahead_hits: u64,
    /// Pages that zswap served.
    pub zswap_loads: u64,
    /// Pages that zswap took.
    pub zswap_stores: u64,
    /// Pages that zswap wrote to swap areas.
    pub zswap_written_back: u64,
}

/// Returns whether the kernel neither writes nor reads pages of zeros: since Linux 6.12, which
/// counts them from its first release on.
pub fn kernel_drops_zeros() -> bool {
    drops_zeros(&vmstat())
}

fn vmstat() -> String {
    fs::read_to_string("/proc/vmstat").unwrap_or_default()
}

fn drops_zeros(vmstat: &str) -> bool {
    value_of(vmstat, "swpout_zero").is_some()
}

impl SwapCounters {
    /// Reads the counters; zero for those that the kernel lacks.
    pub fn read() -> Self {
        Self::parse(&vmstat())
    }

    /// Returns the increase since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        let since = |of: fn(&Self) -> u64| of(&self).saturating_sub(of(&earlier));
        Self {
            read: since(|it| it.read),
            unread: since(|it| it.unread),
            written: since(|it| it.written),
            zeros: since(|it| it.zeros),
            readahead: since(|it| it.readahead),
            readahead_hits: since(|it| it.readahead_hits),
            zswap_loads: since(|it| it.zswap_loads),
            zswap_stores: since(|it| it.zswap_stores),
            zswap_written_back: since(|it| it.zswap_written_back),
        }
    }

    fn parse(vmstat: &str) -> Self {
        let counter = |key| value_of(vmstat, key).unwrap_or(0);
        Self {
            read: counter("pswpin"),
            unread: counter("swpin_zero") + counter("zswpin"),
            written: counter("pswpout"),
            zeros: counter("swpout_zero"),
            readahead: counter("swap_ra"),
            readahead_hits: counter("swap_ra_hit"),
            zswap_loads: counter("zswpin"),
            zswap_stores: counter("zswpout"),
            zswap_written_back: counter("zswpwb"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_the_kernel() {
        let text = "pswpin 5\npswpout 7\nswap_ra 9\nswap_ra_hit 3\nswpin_zero 2\nswpout_zero 6\nzswpin 4\n\
                    zswpout 8\nzswpwb 1\n";
        let expected = SwapCounters {
            read: 5,
            unread: 6,
            written: 7,
            zeros: 6,
            readahead: 9,
            readahead_hits: 3,
            zswap_loads: 4,
            zswap_stores: 8,
            zswap_written_back: 1,
        };
        assert_eq!(SwapCounters::parse(text), expected);
        assert!(drops_zeros(text) && !drops_zeros("pswpin 5\npswpout 7\n"));
    }
}
