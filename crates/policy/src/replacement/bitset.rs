//! A set of numbers with fast access to the largest: a bit set, and above it levels whose bits say
//! which words of the level below are not zero.

/// A set of numbers below a bound that grows as needed.
#[derive(Debug, Default)]
pub(super) struct BitSet {
    /// Levels, the lowest first; the highest has at most one word.
    levels: Vec<Vec<u64>>,
}

impl BitSet {
    /// Makes room for the numbers below `bound`.
    pub(super) fn cover(&mut self, bound: usize) {
        let mut words = bound.div_ceil(64);
        for level in 0.. {
            if level == self.levels.len() {
                let occupied = match level {
                    0 => Vec::new(),
                    _ => words_in_use(&self.levels[level - 1]),
                };
                self.levels.push(occupied);
            }
            if self.levels[level].len() < words {
                self.levels[level].resize(words, 0);
            }
            if words <= 1 {
                return;
            }
            words = words.div_ceil(64);
        }
    }

    #[inline]
    pub(super) fn contains(&self, number: usize) -> bool {
        let word = self.levels.first().and_then(|bits| bits.get(number / 64));
        word.is_some_and(|word| word & bit(number) != 0)
    }

    /// Inserts a number below the bound.
    #[inline]
    pub(super) fn insert(&mut self, mut number: usize) {
        for level in &mut self.levels {
            let word = &mut level[number / 64];
            let known = *word != 0;
            *word |= bit(number);
            if known {
                return;
            }
            number /= 64;
        }
    }

    pub(super) fn remove(&mut self, mut number: usize) {
        for level in &mut self.levels {
            let word = &mut level[number / 64];
            *word &= !bit(number);
            if *word != 0 {
                return;
            }
            number /= 64;
        }
    }

    /// Returns the largest number in the set.
    pub(super) fn last(&self) -> Option<usize> {
        let mut number = 0;
        for level in self.levels.iter().rev() {
            let highest = level.get(number)?.checked_ilog2()?;
            number = number * 64 + highest as usize;
        }
        (!self.levels.is_empty()).then_some(number)
    }
}

/// Returns the bit of a number in its word.
fn bit(number: usize) -> u64 {
    1 << (number % 64)
}

/// Returns the next higher level: one bit for each word.
fn words_in_use(words: &[u64]) -> Vec<u64> {
    let in_use = |words: &[u64]| {
        let bits = words.iter().enumerate();
        bits.fold(0, |bits, (at, word)| bits | u64::from(*word != 0) << at)
    };
    words.chunks(64).map(in_use).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Bounds beyond 64 and 64 * 64, so that levels appear while numbers are in the set.
        #[test]
        fn it_is_an_ordered_set(steps in prop::collection::vec((any::<bool>(), 0..3u32, 0..64usize), 1..200)) {
            let (mut bits, mut set, mut bound) = (BitSet::default(), BTreeSet::new(), 0);
            for (insert, power, number) in steps {
                let number = number * 67usize.pow(power);
                bound = bound.max(number + 1);
                bits.cover(bound);
                if insert {
                    bits.insert(number);
                    set.insert(number);
                } else {
                    bits.remove(number);
                    set.remove(&number);
                }
                prop_assert_eq!(bits.last(), set.last().copied());
                prop_assert_eq!(bits.contains(number), set.contains(&number));
                prop_assert!(!bits.contains(bound));
            }
        }
    }
}
