//! A sample of updates after which an address is looked up.

use std::net::IpAddr;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::prefix::Prefix;

/// Draws addresses.
#[derive(Clone, Debug)]
pub struct Sample {
    share: f64,
    random: SplitMix64,
}

impl Sample {
    /// Makes a sample of this share of the updates, 0 to 1.
    pub fn new(share: f64, seed: u64) -> Self {
        Self {
            share,
            random: SplitMix64::seed_from_u64(seed),
        }
    }

    /// Returns some address of an update's prefix, if it is this one's turn.
    pub fn draw(&mut self, prefix: Prefix) -> Option<IpAddr> {
        let uniform = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        if uniform >= self.share {
            return None;
        }
        let bits = u128::from(self.random.next_u64()) << 64 | u128::from(self.random.next_u64());
        Some(prefix.address_with(bits))
    }
}
