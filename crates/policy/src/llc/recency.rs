//! The order in which the lines of each set were used: the LRU stack.

use super::geometry::{Geometry, Place};

/// For each set its ways, most recently used first.
#[derive(Clone, Debug)]
pub struct Recency {
    ways: usize,
    order: Vec<u8>,
}

impl Recency {
    /// Of all sets of a cache; way 0 is the most recent of each at first.
    pub fn new(geometry: Geometry) -> Self {
        let set: Vec<u8> = (0..geometry.ways as u8).collect();
        Self {
            ways: geometry.ways,
            order: set.repeat(geometry.sets),
        }
    }

    /// The ways of a set, most recently used first.
    #[inline]
    pub fn of(&self, set: usize) -> &[u8] {
        &self.order[set * self.ways..][..self.ways]
    }

    /// How many ways of its set come before this one.
    #[inline]
    pub fn position(&self, place: Place) -> usize {
        let order = self.of(place.set);
        order
            .iter()
            .position(|&way| usize::from(way) == place.way)
            .unwrap_or(self.ways - 1)
    }

    /// Makes it the most recently used of its set.
    #[inline]
    pub fn promote(&mut self, place: Place) {
        self.put(place, 0);
    }

    /// Puts it behind `position` others of its set, at most behind all.
    #[inline]
    pub fn put(&mut self, place: Place, position: usize) {
        let from = self.position(place);
        let to = position.min(self.ways - 1);
        let order = &mut self.order[place.set * self.ways..][..self.ways];
        if to <= from {
            order.copy_within(to..from, to + 1);
        } else {
            order.copy_within(from + 1..=to, from);
        }
        order[to] = place.way as u8;
    }

    /// The least recently used way of a set.
    #[inline]
    pub fn last(&self, set: usize) -> usize {
        usize::from(self.of(set)[self.ways - 1])
    }

    /// Whom a static partitioning evicts (Fedorov 2016, 2.2): of the ways behind the `high` most
    /// recent ones the least recent that is clean, or the least recent of all if none is. Bit w
    /// of `dirty` says that way w is.
    #[inline]
    pub fn victim(&self, set: usize, high: usize, dirty: u64) -> usize {
        let low = &self.of(set)[high.min(self.ways)..];
        let clean = low.iter().rev().find(|&&way| dirty >> way & 1 == 0);
        clean.map_or_else(|| self.last(set), |&way| usize::from(way))
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

    #[test]
    fn ways_move_to_the_front_or_further_back() {
        let mut recency = Recency::new(GEOMETRY);
        recency.promote(at(2));
        assert_eq!(recency.of(1), [2, 0, 1, 3]);
        recency.put(at(2), 2);
        assert_eq!(recency.of(1), [0, 1, 2, 3]);
        recency.put(at(0), 9);
        assert_eq!(recency.of(1), [1, 2, 3, 0]);
        assert_eq!(recency.position(at(3)), 2);
        assert_eq!(recency.last(1), 0);
        assert_eq!(recency.of(0), [0, 1, 2, 3], "the other set");
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
        /// Against a vector that values are taken out of and put into.
        #[test]
        fn puts_are_a_removal_and_an_insertion(
            puts in prop::collection::vec((0usize..4, 0usize..6), 0..50),
        ) {
            let mut recency = Recency::new(GEOMETRY);
            let mut slow = vec![0u8, 1, 2, 3];
            for (way, position) in puts {
                recency.put(at(way), position);
                slow.retain(|&other| usize::from(other) != way);
                slow.insert(position.min(3), way as u8);
                prop_assert_eq!(recency.of(1), &slow[..]);
            }
        }
    }
}
