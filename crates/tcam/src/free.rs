//! Free blocks, in the order in which they are taken.

use std::collections::BTreeSet;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::levelling::Order;

/// Blocks that hold no valid row.
#[derive(Clone, Debug)]
pub enum Free {
    /// The lowest number is next.
    Lowest(BTreeSet<u32>),
    /// The first number from this one on is next.
    Next(BTreeSet<u32>, u32),
    /// Any is next.
    Random(Vec<u32>, SplitMix64),
}

impl Free {
    /// Makes an empty set; `seed` decides what is drawn.
    pub fn new(order: Order, seed: u64) -> Self {
        match order {
            Order::Lowest => Self::Lowest(BTreeSet::new()),
            Order::Next => Self::Next(BTreeSet::new(), 0),
            Order::Random => Self::Random(Vec::new(), SplitMix64::seed_from_u64(seed)),
        }
    }

    /// Returns the number of free blocks.
    pub fn len(&self) -> usize {
        match self {
            Self::Lowest(blocks) | Self::Next(blocks, _) => blocks.len(),
            Self::Random(blocks, _) => blocks.len(),
        }
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a block that has become free.
    pub fn give(&mut self, block: u32) {
        match self {
            Self::Lowest(blocks) | Self::Next(blocks, _) => {
                blocks.insert(block);
            }
            Self::Random(blocks, _) => blocks.push(block),
        }
    }

    /// Takes the next block; `None` if there is none.
    pub fn take(&mut self) -> Option<u32> {
        match self {
            Self::Lowest(blocks) => blocks.pop_first(),
            Self::Next(blocks, next) => {
                let block = blocks.range(*next..).next().or(blocks.first()).copied()?;
                blocks.remove(&block);
                *next = block + 1;
                Some(block)
            }
            Self::Random(blocks, random) => {
                // The high half of a product: of 2^64 draws, a block more or less is no matter.
                let index = (u128::from(random.next_u64()) * blocks.len() as u128) >> 64;
                (!blocks.is_empty()).then(|| blocks.swap_remove(index as usize))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_taken_in_their_order() {
        let taken = |order| {
            let mut free = Free::new(order, 1);
            [5, 1, 3].into_iter().for_each(|block| free.give(block));
            let first = free.take().unwrap();
            free.give(first);
            let rest: Vec<u32> = std::iter::from_fn(|| free.take()).collect();
            assert!(free.is_empty());
            (first, rest)
        };
        assert_eq!(taken(Order::Lowest), (1, vec![1, 3, 5]));
        assert_eq!(taken(Order::Next), (1, vec![3, 5, 1]));
        let (_, mut rest) = taken(Order::Random);
        rest.sort_unstable();
        assert_eq!(rest, [1, 3, 5]);
    }

    #[test]
    fn random_blocks_are_all_drawn() {
        let mut free = Free::new(Order::Random, 7);
        (0..16).for_each(|block| free.give(block));
        let mut times = [0; 16];
        for _ in 0..1600 {
            let block = free.take().unwrap();
            times[block as usize] += 1;
            free.give(block);
        }
        assert!(
            times.iter().all(|times| (60..150).contains(times)),
            "{times:?}"
        );
    }
}
