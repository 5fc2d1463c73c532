//! A static random mapping of numbers to as many numbers, which can be inverted.
//!
//! Qureshi et al., MICRO 2009, put it before start-gap, so that neighbours that are all hot do not
//! stay neighbours: a Feistel network of three stages, whose keys are drawn when the machine boots.
//! Their stages cube a half of the number; here it is multiplied twice, which mixes its high bits
//! into the low ones as well. Where the count is no power of four, a number that leads past the end
//! is mapped again, until one is below it: that is invertible, too.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The mapping of the numbers below a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feistel {
    count: u64,
    /// Bits of either half of a number.
    bits: u32,
    keys: [u64; 3],
}

impl Feistel {
    /// Makes the mapping of the numbers below `count`, which is at most 2^62; 0 counts as 1.
    pub fn new(count: u64, seed: u64) -> Self {
        let count = count.max(1);
        let mut random = SplitMix64::seed_from_u64(seed);
        Self {
            count,
            bits: (u64::BITS - (count - 1).leading_zeros()).div_ceil(2).max(1),
            keys: std::array::from_fn(|_| random.next_u64()),
        }
    }

    /// Returns what `number`, which is below the count, is mapped to.
    pub fn map(&self, number: u64) -> u64 {
        self.walk(number, |[high, low]| {
            self.keys.iter().fold([high, low], |[high, low], key| {
                [low, high ^ self.mix(low, *key)]
            })
        })
    }

    /// Returns what is mapped to `number`.
    pub fn invert(&self, number: u64) -> u64 {
        self.walk(number, |[high, low]| {
            self.keys
                .iter()
                .rev()
                .fold([high, low], |[high, low], key| {
                    [low ^ self.mix(high, *key), high]
                })
        })
    }

    /// Takes steps on the halves of a number until it is below the count.
    fn walk(&self, mut number: u64, step: impl Fn([u64; 2]) -> [u64; 2]) -> u64 {
        loop {
            let [high, low] = step([number >> self.bits, number & ((1 << self.bits) - 1)]);
            number = high << self.bits | low;
            if number < self.count {
                return number;
            }
        }
    }

    fn mix(&self, half: u64, key: u64) -> u64 {
        let mixed = (half ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> (u64::BITS - self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_is_mapped_to_another_and_back(count in 1u64..3000, seed: u64) {
            let feistel = Feistel::new(count, seed);
            let mut mapped: Vec<u64> = (0..count).map(|number| feistel.map(number)).collect();
            for (number, mapped) in mapped.iter().enumerate() {
                prop_assert_eq!(feistel.invert(*mapped), number as u64);
            }
            mapped.sort_unstable();
            prop_assert_eq!(mapped, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_largest_count_and_the_least() {
        let one = Feistel::new(0, 3);
        assert_eq!((one.map(0), one.invert(0)), (0, 0));
        let all = Feistel::new(1 << 62, 3);
        assert_eq!(all.invert(all.map((1 << 62) - 1)), (1 << 62) - 1);
    }

    /// 64 neighbours of 2^16 numbers fall into 16 parts; 4 into each on average, and 14 into one
    /// with a chance of 10^-4.
    #[test]
    fn neighbours_do_not_stay_neighbours() {
        for seed in 0..20 {
            let feistel = Feistel::new(1 << 16, seed);
            let mut parts = [0; 16];
            (640..704).for_each(|number| parts[(feistel.map(number) >> 12) as usize] += 1);
            assert!(parts.iter().all(|neighbours| *neighbours < 14), "{parts:?}");
            let mut parts = [0; 16];
            (640..704).for_each(|number| parts[(feistel.map(number) & 15) as usize] += 1);
            assert!(parts.iter().all(|neighbours| *neighbours < 14), "{parts:?}");
        }
    }
}
