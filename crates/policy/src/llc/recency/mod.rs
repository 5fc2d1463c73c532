//! Order in which the lines of each set were used: the LRU stack.

mod stack;

use super::geometry::{Geometry, Place};
use stack::{MOST, Stack};

/// For each set its ways, most recently used first.
#[derive(Clone, Debug)]
pub struct Recency {
    ways: usize,
    order: Order,
}

/// Removes the entry at `from`, and puts `entry` behind `to` others.
#[inline]
pub(super) fn put<T: Copy>(order: &mut [T], from: usize, to: usize, entry: T) {
    if to <= from {
        order.copy_within(to..from, to + 1);
    } else {
        order.copy_within(from + 1..=to, from);
    }
    order[to] = entry;
}

/// Orders of all sets.
#[derive(Clone, Debug)]
enum Order {
    /// One word for each set.
    Words(Vec<Stack>),
    /// One byte for each way, if a set has more ways than fit into a word.
    Bytes(Vec<u8>),
}

impl Recency {
    /// Makes the orders of all sets of a cache; way 0 is the most recent of each at first.
    pub fn new(geometry: Geometry) -> Self {
        let order = match geometry.ways {
            ..=MOST => Order::Words(vec![Stack::ORDERED; geometry.sets]),
            ways => {
                let set: Vec<u8> = (0..ways as u8).collect();
                Order::Bytes(set.repeat(geometry.sets))
            }
        };
        Self {
            ways: geometry.ways,
            order,
        }
    }

    /// Returns the ways of a set, most recently used first.
    #[inline]
    pub fn of(&self, set: usize) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.ways).map(move |position| self.at(set, position))
    }

    /// Returns the way at a position of a set.
    #[inline(always)]
    fn at(&self, set: usize, position: usize) -> usize {
        match &self.order {
            Order::Words(words) => words[set].at(position),
            Order::Bytes(bytes) => usize::from(bytes[set * self.ways + position]),
        }
    }

    /// Number of ways of the set that come before this one.
    #[inline(always)]
    pub fn position(&self, place: Place) -> usize {
        match &self.order {
            Order::Words(words) => words[place.set].position(place.way),
            Order::Bytes(bytes) => {
                let order = &bytes[place.set * self.ways..][..self.ways];
                let position = order.iter().position(|&way| usize::from(way) == place.way);
                position.unwrap_or(self.ways - 1)
            }
        }
    }

    /// Whether a line is in the last quarter of its set's order, those that would leave next: the
    /// part of a cache that a virtual write queue looks at (Stuecheli et al., ISCA 2010).
    pub fn in_last_quarter(&self, place: Place) -> bool {
        self.position(place) >= self.ways - self.ways.div_ceil(4)
    }

    /// Makes a line the most recently used of its set.
    #[inline]
    pub fn promote(&mut self, place: Place) {
        self.put(place, 0);
    }

    /// Puts a line behind `position` others of its set, at most behind all.
    #[inline(always)]
    pub fn put(&mut self, place: Place, position: usize) {
        let to = position.min(self.ways - 1);
        if let Order::Words(words) = &mut self.order {
            return words[place.set].put(place.way, to);
        }
        let from = self.position(place);
        if let Order::Bytes(bytes) = &mut self.order {
            let order = &mut bytes[place.set * self.ways..][..self.ways];
            put(order, from, to, place.way as u8);
        }
    }

    /// Puts a free place behind all lines of its set.
    #[inline]
    pub fn retire(&mut self, place: Place) {
        self.put(place, self.ways);
    }

    /// Returns the least recently used way of a set.
    #[inline]
    pub fn last(&self, set: usize) -> usize {
        self.at(set, self.ways - 1)
    }

    /// Returns the victim of a static partitioning (Fedorov 2016, 2.2): of the ways behind the
    /// `high` most recent ones the least recent clean one, or the least recent of all if none is
    /// clean. Bit w of `dirty` is set if way w is dirty.
    #[inline(always)]
    pub fn victim(&self, set: usize, high: usize, dirty: u64) -> usize {
        let low = (high..self.ways)
            .rev()
            .map(|position| self.at(set, position));
        let mut clean = low.filter(|&way| dirty >> way & 1 == 0);
        clean.next().unwrap_or_else(|| self.last(set))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GEOMETRY: Geometry = Geometry { sets: 2, ways: 4 };

    fn at(way: usize) -> Place {
        Place { set: 1, way }
    }

    fn order(recency: &Recency, set: usize) -> Vec<usize> {
        recency.of(set).collect()
    }

    #[test]
    fn ways_move_to_the_front_or_further_back() {
        let mut recency = Recency::new(GEOMETRY);
        recency.promote(at(2));
        assert_eq!(order(&recency, 1), [2, 0, 1, 3]);
        recency.put(at(2), 2);
        assert_eq!(order(&recency, 1), [0, 1, 2, 3]);
        recency.put(at(0), 9);
        assert_eq!(order(&recency, 1), [1, 2, 3, 0]);
        assert_eq!(recency.position(at(3)), 2);
        assert_eq!(recency.last(1), 0);
        assert_eq!(order(&recency, 0), [0, 1, 2, 3], "the other set");
    }

    #[test]
    fn the_last_quarter_has_a_way_at_least() {
        for (ways, quarter) in [(1, 1), (2, 1), (4, 1), (6, 2), (16, 4), (20, 5)] {
            let recency = Recency::new(Geometry { sets: 2, ways });
            let low = (0..ways).filter(|way| recency.in_last_quarter(at(*way)));
            assert!(low.eq(ways - quarter..ways), "{ways}");
        }
    }

    /// Figure 2.2: the least recent clean way behind the high-hit ones, else the least recent.
    #[test]
    fn the_clean_go_first() {
        let recency = Recency::new(GEOMETRY);
        assert_eq!(recency.victim(1, 0, 0b1000), 2);
        assert_eq!(recency.victim(1, 0, 0b1110), 0);
        assert_eq!(
            recency.victim(1, 1, 0b1110),
            3,
            "the only clean one is kept"
        );
        assert_eq!(recency.victim(1, 2, 0b1000), 2);
        assert_eq!(recency.victim(1, 4, 0b1000), 3, "LRU");
    }

    proptest! {
        /// Against a vector that values are taken out of and put into, in a word and in bytes.
        #[test]
        fn puts_are_a_removal_and_an_insertion(
            ways in prop::sample::select(vec![1, 2, 4, 12, 15, 16, 17, 64]),
            puts in prop::collection::vec((0usize..64, 0usize..66), 0..100),
            dirty: u64,
        ) {
            let mut recency = Recency::new(Geometry { sets: 2, ways });
            let mut slow: Vec<usize> = (0..ways).collect();
            for (way, position) in puts {
                let way = way % ways;
                recency.put(at(way), position);
                slow.retain(|&other| other != way);
                slow.insert(position.min(ways - 1), way);
                prop_assert_eq!(&order(&recency, 1), &slow);
                prop_assert_eq!(recency.position(at(way)), position.min(ways - 1));
                prop_assert_eq!(recency.last(1), slow[ways - 1]);
                let clean = |way: &&usize| dirty >> **way & 1 == 0;
                let low = slow[position.min(ways)..].iter();
                let victim = low.rev().find(clean).unwrap_or(&slow[ways - 1]);
                prop_assert_eq!(recency.victim(1, position, dirty), *victim);
            }
            prop_assert_eq!(order(&recency, 0), (0..ways).collect::<Vec<_>>());
        }
    }
}
