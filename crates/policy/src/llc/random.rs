//! `random`: evicts any line of the set at random.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{Choice, Entry, Geometry, LlcPolicy, Make, Place, Request};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "random",
    summary: "any line, at random",
    paper: "Belady, IBM Systems Journal 5(2), 1966",
    when: "A baseline without any record of use.",
    evidence: crate::registry::Evidence {
        open: "The random numbers.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::ByLine(&|geometry, _, seed| Ok(Box::new(Random::new(geometry, seed)))),
};

/// The `random` policy.
pub struct Random {
    ways: u64,
    chance: SplitMix64,
}

impl Random {
    /// Makes the policy for a cache of this shape; the same seed makes the same choices.
    pub fn new(geometry: Geometry, seed: u64) -> Self {
        Self {
            ways: geometry.ways as u64,
            chance: SplitMix64::seed_from_u64(seed),
        }
    }
}

impl LlcPolicy for Random {
    #[inline]
    fn hit(&mut self, _: Place, _: &Request) {}

    #[inline]
    fn choose(&mut self, _: usize, _: u64, _: &Request) -> Choice {
        Choice::Evict((self.chance.next_u64() % self.ways) as usize)
    }

    #[inline]
    fn fill(&mut self, _: Place, _: &Request) {}

    fn go_exclusive(&mut self) -> bool {
        true
    }
}
