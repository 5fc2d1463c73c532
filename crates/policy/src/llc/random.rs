//! `random`: evicts any line of the set, by chance.

use super::{Choice, Geometry, LlcPolicy, Place, Request};

/// The policy.
pub struct Random {
    ways: u64,
    state: u64,
}

impl Random {
    /// For a cache of this shape; the same seed makes the same choices.
    pub fn new(geometry: Geometry, seed: u64) -> Self {
        Self {
            ways: geometry.ways as u64,
            state: seed,
        }
    }

    /// `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

impl LlcPolicy for Random {
    fn hit(&mut self, _: Place, _: &Request) {}

    fn choose(&mut self, _: usize, _: u64, _: &Request) -> Choice {
        Choice::Evict((self.next() % self.ways) as usize)
    }

    fn fill(&mut self, _: Place, _: &Request) {}
}
