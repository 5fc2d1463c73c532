//! A sample of updates after which an address is looked up.

use std::net::IpAddr;

use crate::prefix::Prefix;
use crate::uniform::Uniform;

/// Draws addresses.
#[derive(Clone, Debug)]
pub struct Sample {
    share: f64,
    random: Uniform,
}

impl Sample {
    /// Makes a sample of this share of the updates, 0 to 1.
    pub fn new(share: f64, seed: u64) -> Self {
        Self {
            share,
            random: Uniform::new(seed),
        }
    }

    /// Returns some address of an update's prefix, if it is this one's turn.
    pub fn draw(&mut self, prefix: Prefix) -> Option<IpAddr> {
        if self.random.draw() >= self.share {
            return None;
        }
        let bits = u128::from(self.random.bits()) << 64 | u128::from(self.random.bits());
        Some(prefix.address_with(bits))
    }
}
