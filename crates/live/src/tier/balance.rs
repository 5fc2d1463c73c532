//! The balance of a steered run: pages that came from the tier, beside the reasons why.
//!
//! A major fault has read its page itself, a fetch has read its page unless it was reissued, and
//! the kernel reads ahead by itself (see `terrace_policy::prefetch::ledger`). The rest came for
//! others.

use terrace_policy::prefetch::LifeStory;

use crate::group::counters::SwapCounters;

/// Share of the pages that may be unaccounted for: faults and counters are read one after the
/// other.
const TOLERANCE: f64 = 0.02;
/// Unaccounted pages that are too few to mean anything, whatever their share: a program faults on
/// its files as well.
const NOISE: u64 = 1000;

/// Pages that came from the tier during a run, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Pages that came from the tier, on the whole machine.
    pub came: u64,
    /// Pages that the kernel read ahead, on the whole machine.
    pub read_ahead: u64,
    /// Fetches of the run that read their page: issued and not reissued.
    pub fetched: u64,
    /// Major faults of the run.
    pub faulted: u64,
}

impl Balance {
    /// Returns the balance of a run from its figures and the kernel's counters over its time.
    pub(crate) fn of(story: &LifeStory, major_faults: u64, swap: SwapCounters) -> Self {
        Self {
            came: swap.read + swap.unread,
            read_ahead: swap.readahead,
            // In a phase, more may have been found reissued than were issued in it.
            fetched: story.issued.saturating_sub(story.reissued),
            faulted: major_faults,
        }
    }

    /// Returns the number of pages that came for no known reason; negative if fewer pages came than
    /// there were reasons.
    pub fn unaccounted(&self) -> i64 {
        let reasons = self.fetched + self.faulted + self.read_ahead;
        self.came.wrapping_sub(reasons) as i64
    }

    /// Returns [`Self::unaccounted`] as a share of the pages that came.
    pub fn unaccounted_share(&self) -> f64 {
        self.unaccounted() as f64 / self.came.max(1) as f64
    }

    /// Whether all pages are accounted for, but for a fiftieth or a thousand.
    pub fn holds(&self) -> bool {
        let off = self.unaccounted().unsigned_abs();
        off <= NOISE || self.unaccounted_share().abs() <= TOLERANCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(read: u64, unread: u64) -> Balance {
        let story = LifeStory {
            issued: 60_000,
            reissued: 10_000,
            ..LifeStory::default()
        };
        let swap = SwapCounters {
            read,
            unread,
            readahead: 20_000,
            ..SwapCounters::default()
        };
        Balance::of(&story, 30_000, swap)
    }

    #[test]
    fn what_came_is_fetched_faulted_or_read_ahead() {
        assert_eq!(balance(90_000, 10_000).unaccounted(), 0);
        assert!(balance(102_000, 0).holds());
        assert!(!balance(102_100, 0).holds());
        assert_eq!(balance(90_000, 0).unaccounted(), -10_000);
        assert!(!balance(90_000, 0).holds());
    }

    #[test]
    fn a_few_pages_mean_nothing() {
        let few = |faulted| Balance {
            came: 10,
            faulted,
            ..Balance::default()
        };
        assert!(few(1010).holds());
        assert!(!few(1011).holds());
    }
}
