//! Numbers from 0 to 1 that a seed decides.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Draws numbers.
#[derive(Clone, Debug)]
pub(crate) struct Uniform(SplitMix64);

impl Uniform {
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// Returns a number from 0 up to 1, without 1.
    pub fn draw(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}
