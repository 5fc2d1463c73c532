//! Numbers in scrambled order, without a table.

use super::random::Random;

const ROUNDS: usize = 3;

/// A random order of `0..len`.
///
/// It permutes the numbers of as many bits as `len` needs, by rounds of a multiplication by an odd
/// number, an addition and a shifted exclusive or. Each can be undone, and so takes no two
/// numbers to one. A result that is not below `len` is permuted again until it is (cycle walking:
/// Black and Rogaway 2002), which takes two tries on the average at worst.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    len: u64,
    mask: u64,
    shift: u32,
    /// An odd factor and a summand for each round.
    rounds: [(u64, u64); ROUNDS],
}

impl Permutation {
    /// Draws an order of `0..len`; `len` is at least 1 and at most 2^63.
    pub(super) fn new(len: u64, random: &mut Random) -> Self {
        let mask = len.next_power_of_two() - 1;
        Self {
            len,
            mask,
            shift: (mask.count_ones() / 2).max(1),
            rounds: std::array::from_fn(|_| (random.bits() | 1, random.bits())),
        }
    }

    /// Returns the place of `index`, below `len`, in the order.
    pub(super) fn at(&self, index: u64) -> u64 {
        let mut place = self.scramble(index);
        while place >= self.len {
            place = self.scramble(place);
        }
        place
    }

    fn scramble(&self, number: u64) -> u64 {
        self.rounds.iter().fold(number, |n, (factor, summand)| {
            let line = n.wrapping_mul(*factor).wrapping_add(*summand) & self.mask;
            line ^ (line >> self.shift)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_once(len in 1u64..5000, seed: u64) {
            let order = Permutation::new(len, &mut Random::new(seed));
            let mut seen = vec![false; len as usize];
            for index in 0..len {
                let place = order.at(index) as usize;
                prop_assert!(!std::mem::replace(&mut seen[place], true));
            }
        }
    }

    /// Neighbours end far apart: in a random order of 100 000 a step of less than 1000 either way
    /// comes in 2 of 100 cases.
    #[test]
    fn the_order_has_no_short_steps() {
        let len = 100_000;
        let order = Permutation::new(len, &mut Random::new(3));
        let places: Vec<u64> = (0..len).map(|index| order.at(index)).collect();
        let short = places.windows(2).filter(|w| w[0].abs_diff(w[1]) < 1000);
        assert!((1500..2500).contains(&short.count()));
    }

    #[test]
    fn seeds_differ() {
        let order = |seed| Permutation::new(1000, &mut Random::new(seed));
        let same = (0..1000).filter(|i| order(1).at(*i) == order(2).at(*i));
        assert!(same.count() < 20);
    }
}
