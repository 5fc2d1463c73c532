//! Random numbers that are the same on every machine and in every version.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of random numbers: xoshiro256++ (Blackman and Vigna 2021), seeded by SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Draws 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws evenly from `0..end`: the upper half of a product (Lemire 2019) without its
    /// correction,
    /// whose absence makes no number likelier than another by more than `end` in 2^64.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// Draws evenly from `0.0..1.0`, in 2^53 steps.
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns true with a probability of `percent` in a hundred.
    pub(super) fn percent(&mut self, percent: u8) -> bool {
        self.below(100) < u64::from(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stream is fixed: a trace of today is the trace of tomorrow.
    #[test]
    fn the_stream_stays() {
        // First outputs of the authors' splitmix64.c for seed 0, which fill the state, and what
        // xoshiro256plusplus.c makes of them, worked out here by the reference's few lines.
        let mut state = [
            0xe220_a839_7b1d_cdaf_u64,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
            0xf88b_b8a8_724c_81ec,
        ];
        let mut random = Random::new(0);
        for _ in 0..1000 {
            let [s0, s1, s2, s3] = state;
            let result = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
            let (s2, s3) = (s2 ^ s0, s3 ^ s1);
            let (s1, s0) = (s1 ^ s2, s0 ^ s3);
            state = [s0, s1, s2 ^ (state[1] << 17), s3.rotate_left(45)];
            assert_eq!(random.bits(), result);
        }
    }

    #[test]
    fn bounds_hold() {
        let mut random = Random::new(1);
        let mut seen = [0; 7];
        for _ in 0..7000 {
            seen[random.below(7) as usize] += 1;
            assert!((0.0..1.0).contains(&random.unit()));
            assert!(!random.percent(0) && random.percent(100));
        }
        // Five standard deviations of a binomial of 7000 and 1/7 are 146.
        assert!(seen.iter().all(|n| (854..1146).contains(n)), "{seen:?}");
    }
}
