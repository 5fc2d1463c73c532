//! The free flash blocks, and to which prefix length they belong (Fedorov 2016, 4.3.3 and 4.4.1).

use crate::free::Free;
use crate::length::Length;
use crate::levelling::Order;

/// Who may use a free block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocation {
    /// Any length that needs it: assumption 4 of the lifetime estimate.
    #[default]
    Shared,
    /// Each length has its own for the life of the router. Of the free ones the most used length
    /// has half, as /24 has 2000 of 4000 in the chapter, and the others share the rest as they
    /// share the used ones.
    Static,
}

impl Allocation {
    /// Names of the allocations.
    pub const NAMES: [(&'static str, Self); 2] =
        [("shared", Self::Shared), ("static", Self::Static)];
}

/// Free blocks by prefix length.
#[derive(Clone, Debug)]
pub struct Pool {
    /// One list for all lengths, or one for each.
    lists: Vec<Free>,
}

impl Pool {
    /// Puts all blocks into one list.
    pub fn shared(blocks: u32, order: Order, seed: u64) -> Self {
        let mut free = Free::new(order, seed);
        (0..blocks).for_each(|block| free.give(block));
        Self { lists: vec![free] }
    }

    /// Gives each length as many blocks as it has in `shares`, in the order of lengths.
    pub fn divided(shares: &[u32; Length::COUNT], order: Order, seed: u64) -> Self {
        let mut next = 0;
        let lists = shares.iter().zip(seed..).map(|(share, seed)| {
            let mut free = Free::new(order, seed);
            (next..next + share).for_each(|block| free.give(block));
            next += share;
            free
        });
        Self {
            lists: lists.collect(),
        }
    }

    /// Returns the list of a length.
    pub fn of(&mut self, length: Length) -> &mut Free {
        let list = match self.lists.len() {
            1 => 0,
            _ => length.index(),
        };
        &mut self.lists[list]
    }
}

/// Returns the number of blocks of each length if `used` of `blocks` are needed now and every
/// length of `families` must have `least` beyond them; see [`Allocation::Static`]. `None` if there
/// are not so many.
pub fn shares(
    blocks: u32,
    used: &[u32; Length::COUNT],
    least: u32,
    wanted: impl Fn(Length) -> bool,
) -> Option<[u32; Length::COUNT]> {
    let mut shares = *used;
    let lengths: Vec<Length> = Length::all().filter(|length| wanted(*length)).collect();
    lengths
        .iter()
        .for_each(|length| shares[length.index()] += least);
    let taken: u32 = shares.iter().sum();
    let free = blocks.checked_sub(taken)?;
    let most = lengths
        .iter()
        .max_by_key(|length| used[length.index()])?
        .index();
    let others: u32 = used.iter().sum::<u32>() - used[most];
    let mut left = free;
    for length in lengths
        .iter()
        .map(|length| length.index())
        .filter(|length| *length != most)
    {
        let share = u64::from(free / 2) * u64::from(used[length]) / u64::from(others.max(1));
        shares[length] += share as u32;
        left -= share as u32;
    }
    shares[most] += left;
    Some(shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefix::Family;

    #[test]
    fn half_of_the_free_blocks_are_the_most_used_length_s() {
        let length = |bits| Length {
            family: Family::V4,
            bits,
        };
        let mut used = [0; Length::COUNT];
        for (bits, blocks) in [(24, 1000), (22, 600), (16, 400)] {
            used[length(bits).index()] = blocks;
        }
        let shares = shares(6033, &used, 1, |length| length.family == Family::V4).unwrap();
        let of = |bits| shares[length(bits).index()];
        assert_eq!([of(24), of(22), of(16), of(8)], [3001, 1801, 1201, 1]);
        assert_eq!(shares.iter().sum::<u32>(), 6003 + 30);
        let too_few = super::shares(2000, &used, 1, |length| length.family == Family::V4);
        assert_eq!(too_few, None);
    }

    #[test]
    fn lengths_have_blocks_of_their_own() {
        let mut shares = [0; Length::COUNT];
        let (a, b) = (
            Length {
                family: Family::V4,
                bits: 8,
            },
            Length {
                family: Family::V6,
                bits: 8,
            },
        );
        (shares[a.index()], shares[b.index()]) = (1, 2);
        let mut pool = Pool::divided(&shares, Order::Lowest, 1);
        assert_eq!(pool.of(b).take(), Some(1));
        assert_eq!((pool.of(a).take(), pool.of(a).take()), (Some(0), None));
    }
}
