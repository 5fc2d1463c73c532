//! Randomly chosen sets of a cache, from which a policy learns for all sets.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Sets marked by one bit each.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// Bit s of all words: whether set s is sampled.
    bits: Vec<u64>,
    /// Sampled sets in rising order, each with its number in the order of the draw.
    numbers: Vec<(usize, usize)>,
}

impl Sampled {
    /// Draws `count` different ones of `sets` sets, at most all; the same seed draws the same sets.
    pub fn new(sets: usize, count: usize, seed: u64) -> Self {
        let count = count.min(sets);
        let mut chance = SplitMix64::seed_from_u64(seed);
        let mut deck: Vec<usize> = (0..sets).collect();
        for drawn in 0..count {
            let left = (sets - drawn) as u64;
            deck.swap(drawn, drawn + (chance.next_u64() % left) as usize);
        }
        let mut bits = vec![0; sets.div_ceil(64)];
        let mut numbers = Vec::with_capacity(count);
        for (number, &set) in deck[..count].iter().enumerate() {
            bits[set / 64] |= 1 << (set % 64);
            numbers.push((set, number));
        }
        numbers.sort_unstable();
        Self { bits, numbers }
    }

    /// Returns the number of a sampled set, from 0, or `None` for another set.
    #[inline]
    pub fn number(&self, set: usize) -> Option<usize> {
        let is_one = self.bits[set / 64] >> (set % 64) & 1 == 1;
        is_one.then(|| self.look_up(set)).flatten()
    }

    #[cold]
    fn look_up(&self, set: usize) -> Option<usize> {
        let at = self.numbers.binary_search_by_key(&set, |&(set, _)| set);
        at.ok().map(|at| self.numbers[at].1)
    }

    /// Number of sampled sets.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether no set is sampled.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_number_is_of_one_set() {
        for (sets, count) in [(1, 0), (3, 2), (64, 64), (2048, 32), (5, 9)] {
            let sampled = Sampled::new(sets, count, 7);
            assert_eq!(sampled.len(), count.min(sets));
            let numbers: Vec<usize> = (0..sets).filter_map(|set| sampled.number(set)).collect();
            let distinct: BTreeSet<usize> = numbers.iter().copied().collect();
            assert_eq!(numbers.len(), count.min(sets));
            assert!(distinct.into_iter().eq(0..count.min(sets)));
        }
    }

    #[test]
    fn the_seed_decides() {
        let of = |seed| {
            let sampled = Sampled::new(2048, 32, seed);
            (0..2048).map(|set| sampled.number(set)).collect::<Vec<_>>()
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
