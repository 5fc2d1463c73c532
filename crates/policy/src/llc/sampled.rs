//! Some sets of a cache, from which a policy learns for all sets.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Sampled sets, with numbers from 0 on.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// Number of each set, or [`NONE`].
    numbers: Vec<u32>,
    len: usize,
}

/// Number of a set that is not sampled.
const NONE: u32 = u32::MAX;

impl Sampled {
    /// Draws `count` different ones of `sets` sets, at most all; the same seed draws the same sets,
    /// and numbers them in the same order.
    pub fn new(sets: usize, count: usize, seed: u64) -> Self {
        let count = count.min(sets);
        let mut chance = SplitMix64::seed_from_u64(seed);
        let mut deck: Vec<usize> = (0..sets).collect();
        for drawn in 0..count {
            let left = (sets - drawn) as u64;
            deck.swap(drawn, drawn + (chance.next_u64() % left) as usize);
        }
        deck.truncate(count);
        Self::of(sets, deck.into_iter())
    }

    /// Spreads `count` samples over `sets` sets, at most all.
    ///
    /// The sets are divided into groups of equal length, one for each sampled set. Of group g the
    /// set g mod length is sampled: a program that goes through memory in strides of a power of two
    /// would miss sets at equal distances.
    pub fn spread(sets: usize, count: usize) -> Self {
        let count = count.min(sets);
        let group = sets / count;
        Self::of(sets, (0..count).map(|g| g * group + g % group))
    }

    fn of(sets: usize, sampled: impl ExactSizeIterator<Item = usize>) -> Self {
        let (len, mut numbers) = (sampled.len(), vec![NONE; sets]);
        sampled
            .enumerate()
            .for_each(|(number, set)| numbers[set] = number as u32);
        Self { numbers, len }
    }

    /// Returns the number of a sampled set, or `None` for another set.
    #[inline]
    pub fn number(&self, set: usize) -> Option<usize> {
        let number = self.numbers[set];
        (number != NONE).then_some(number as usize)
    }

    /// Number of sampled sets.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no set is sampled.
    pub fn is_empty(&self) -> bool {
        self.len == 0
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

    fn spread(sets: usize, count: usize) -> Vec<usize> {
        let spread = Sampled::spread(sets, count);
        (0..sets)
            .filter(|set| spread.number(*set).is_some())
            .collect()
    }

    #[test]
    fn one_of_each_group() {
        assert_eq!(spread(16, 4), [0, 5, 10, 15]);
        assert_eq!(
            spread(12, 5),
            [0, 3, 4, 7, 8],
            "the last two are in no group"
        );
        assert_eq!(spread(3, 64), [0, 1, 2]);
    }

    #[test]
    fn as_many_as_asked_for() {
        for (sets, count) in [(1, 1), (2048, 64), (96, 64), (2048, 32), (7, 7), (100, 3)] {
            let set = Sampled::spread(sets, count);
            assert_eq!(spread(sets, count).len(), count);
            let indices: Vec<usize> = (0..sets).filter_map(|at| set.number(at)).collect();
            assert_eq!(indices, (0..set.len()).collect::<Vec<usize>>());
        }
    }
}
