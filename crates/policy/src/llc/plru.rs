//! `plru`: a tree of bits for each set in place of the order of LRU.
//!
//! The ways of a set are the leaves of a binary tree. A bit at each node says in which half the
//! victim is looked for; a use turns the bits on its way to the other half. A set of m ways needs
//! m - 1 bits (Al-Zoubi, Milenkovic and Milenkovic, "Performance evaluation of cache replacement
//! policies for the SPEC CPU2000 benchmark suite", ACM Southeast 2004, PLRUt). Where m is no power
//! of two, the first half of a node has one way more than the second.

use super::{Choice, Entry, Geometry, LlcPolicy, Make, Place, Request};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "plru",
    summary: "a tree of bits in place of the order of LRU",
    paper: "Al-Zoubi, Milenkovic and Milenkovic, ACM Southeast 2004",
    when: "To model processors, which use it in place of LRU.",
    evidence: crate::registry::Evidence {
        open: "Sets whose ways are no power of two: the first half has one more.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::ByLine(&|geometry, _, _| Ok(Box::new(Plru::new(geometry)))),
};

/// The `plru` policy.
pub struct Plru {
    ways: usize,
    /// The bits of each set, by the number of the node: the root is 1, and node n has 2n and 2n + 1
    /// below it. A bit is set if the victim is in the second half.
    trees: Vec<u64>,
}

impl Plru {
    /// Makes the policy for a cache of this shape.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            ways: geometry.ways,
            trees: vec![0; geometry.sets],
        }
    }

    #[inline]
    fn touch(&mut self, place: Place) {
        let tree = &mut self.trees[place.set];
        let (mut node, mut first, mut ways) = (1, 0, self.ways);
        while ways > 1 {
            let half = ways.div_ceil(2);
            let second = place.way >= first + half;
            // The victim is in the other half.
            *tree = *tree & !(1 << node) | u64::from(!second) << node;
            (node, first, ways) = step(node, first, ways, second);
        }
    }
}

/// Returns the node below, and the first and the number of its ways.
#[inline]
fn step(node: usize, first: usize, ways: usize, second: bool) -> (usize, usize, usize) {
    let half = ways.div_ceil(2);
    match second {
        false => (2 * node, first, half),
        true => (2 * node + 1, first + half, ways - half),
    }
}

impl LlcPolicy for Plru {
    #[inline]
    fn hit(&mut self, place: Place, _: &Request) {
        self.touch(place);
    }

    #[inline]
    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        let (mut node, mut first, mut ways) = (1, 0, self.ways);
        while ways > 1 {
            let second = self.trees[set] >> node & 1 == 1;
            (node, first, ways) = step(node, first, ways, second);
        }
        Choice::Evict(first)
    }

    #[inline]
    fn fill(&mut self, place: Place, _: &Request) {
        self.touch(place);
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::request;
    use crate::llc::{Cache, Kind, Outcome};

    /// Four ways: the victim is in the half that was not used last, and there in the older way.
    #[test]
    fn bits_point_away_from_what_was_used() {
        let geometry = Geometry { sets: 1, ways: 4 };
        let mut cache = Cache::new(geometry, Box::new(Plru::new(geometry)));
        let mut evicted = |line| match cache.access(&request(line, Kind::Load)) {
            Outcome::Miss {
                evicted: Some(evicted),
            } => Some(evicted.line),
            _ => None,
        };
        assert_eq!([10, 11, 12, 13].map(&mut evicted), [None; 4]);
        // The last half is the second: 10 goes, though LRU agrees only here.
        assert_eq!(evicted(14), Some(10));
        assert_eq!(evicted(12), None);
        // 14 was used before 12, and 11 before both: the first half, and there away from 14.
        assert_eq!(evicted(15), Some(11));
        assert_eq!(evicted(16), Some(13), "LRU would have evicted 13, too");
        assert_eq!(evicted(17), Some(14));
    }
}
