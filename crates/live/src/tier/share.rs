//! Who has what in a tier: areas are the machine's, and whoever is short of memory fills them.

use terrace_base::Bytes;
use terrace_base::block::swaps::Swap;

use super::NEGLIGIBLE;
use crate::group::swapped::SwapCounter;

/// Places that a processor sets aside for pages to come, and keeps of those that went, before the
/// machine has them again (`SWAP_SLOTS_CACHE_SIZE`, before Linux 6.14).
const SET_ASIDE: u64 = 2 * 64;

/// Shares of a tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Size of its areas that are on.
    pub size: Bytes,
    /// What is in them.
    pub used: Bytes,
    /// What the program of the run has in swap areas, be they these or others.
    pub own: Bytes,
    /// What is in them beyond that, so what others have there at least; 0 if that is negligible.
    pub others: Bytes,
}

impl Shares {
    /// Counts the shares of areas, which `areas` lists, with the program whose `counter` it is.
    pub(super) fn count(counter: &SwapCounter, areas: impl Fn() -> Vec<Swap>) -> Self {
        // What the program swaps between two reads is none of others.
        let before = counter.bytes();
        let areas = areas();
        let own = before.max(counter.bytes());
        Self::of(&areas, own, slack())
    }

    fn of(areas: &[Swap], own: Bytes, slack: Bytes) -> Self {
        let used = Bytes(areas.iter().map(|area| area.used.0).sum());
        let others = Bytes(used.0.saturating_sub(own.0));
        Self {
            size: Bytes(areas.iter().map(|area| area.size.0).sum()),
            used,
            own,
            others: if others > slack { others } else { Bytes(0) },
        }
    }

    /// Whether others have filled it up.
    pub(super) fn is_crowded(&self) -> bool {
        let free = self.size.0.saturating_sub(self.used.0);
        self.others > Bytes(0) && free < self.size.0 / 32
    }
}

/// What the counts differ by although nobody else has anything.
fn slack() -> Bytes {
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    NEGLIGIBLE.max(Bytes::of_pages(processors * SET_ASIDE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(size: u64, used: u64) -> Swap {
        Swap {
            path: "/a".into(),
            size: Bytes(size << 20),
            used: Bytes(used << 20),
            priority: 1,
        }
    }

    fn shares(areas: &[Swap], own: u64) -> Shares {
        Shares::of(areas, Bytes(own << 20), Bytes(1 << 20))
    }

    #[test]
    fn what_the_program_does_not_have_others_have() {
        let both = shares(&[area(1024, 700), area(1024, 20)], 300);
        assert_eq!(both.others, Bytes(420 << 20));
        assert_eq!((both.size, both.used), (Bytes(2 << 30), Bytes(720 << 20)));
        assert_eq!(shares(&[area(1024, 301)], 300).others, Bytes(0), "noise");
        let elsewhere = shares(&[area(1024, 100)], 300);
        assert_eq!(elsewhere.others, Bytes(0), "the program has more elsewhere");
    }

    #[test]
    fn a_tier_is_crowded_when_others_fill_it() {
        assert!(shares(&[area(1024, 1000)], 300).is_crowded());
        assert!(!shares(&[area(1024, 900)], 300).is_crowded(), "it has room");
        assert!(!shares(&[area(1024, 1000)], 1000).is_crowded(), "by itself");
        assert!(!shares(&[], 0).is_crowded());
    }
}
