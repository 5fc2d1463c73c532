//! `random`: evicts any line of the set, by chance.

use super::{Choice, Geometry, LlcPolicy, Place, Request, SplitMix64};

/// The policy.
pub struct Random {
    ways: usize,
    chance: SplitMix64,
}

impl Random {
    /// For a cache of this shape; the same seed makes the same choices.
    pub fn new(geometry: Geometry, seed: u64) -> Self {
        Self {
            ways: geometry.ways,
            chance: SplitMix64::new(seed),
        }
    }
}

impl LlcPolicy for Random {
    #[inline]
    fn hit(&mut self, _: Place, _: &Request) {}

    #[inline]
    fn choose(&mut self, _: usize, _: u64, _: &Request) -> Choice {
        Choice::Evict(self.chance.below(self.ways))
    }

    #[inline]
    fn fill(&mut self, _: Place, _: &Request) {}
}
