//! `nru`: evicts the first line of the set that was not referenced recently.
//!
//! One bit for each line marks it as referenced. When all lines of a set are, the bits of the
//! others are cleared, as processors do in place of LRU (Jaleel et al., ISCA 2010, section 3).

use super::{Choice, Entry, Geometry, LlcPolicy, Make, Place, Request};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "nru",
    summary: "not recently used: one bit for each line in place of an order",
    paper: "Jaleel et al., RRIP, ISCA 2010, section 3",
    when: "To model processors, which use it in place of LRU.",
    evidence: crate::registry::Evidence {
        open: "",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::ByLine(&|geometry, _, _| Ok(Box::new(Nru::new(geometry)))),
};

/// The `nru` policy.
pub struct Nru {
    ways: usize,
    /// Referenced ways of each set, as bits.
    referenced: Vec<u64>,
}

impl Nru {
    /// Makes the policy for a cache of this shape.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            ways: geometry.ways,
            referenced: vec![0; geometry.sets],
        }
    }

    fn reference(&mut self, place: Place) {
        let all = u64::MAX >> (64 - self.ways);
        let set = &mut self.referenced[place.set];
        *set |= 1 << place.way;
        if *set == all {
            *set = 1 << place.way;
        }
    }
}

impl LlcPolicy for Nru {
    #[inline]
    fn hit(&mut self, place: Place, _: &Request) {
        self.reference(place);
    }

    #[inline]
    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        // A single way stays referenced.
        let way = self.referenced[set].trailing_ones() as usize;
        Choice::Evict(way.min(self.ways - 1))
    }

    #[inline]
    fn fill(&mut self, place: Place, _: &Request) {
        self.reference(place);
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    fn take(&mut self, place: Place, _: &Request) {
        self.referenced[place.set] &= !(1 << place.way);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::request;
    use crate::llc::{Cache, Kind, Outcome};

    #[test]
    fn the_first_that_was_not_referenced_goes() {
        let geometry = Geometry { sets: 1, ways: 4 };
        let mut cache = Cache::new(geometry, Box::new(Nru::new(geometry)));
        let mut evicted = |line| match cache.access(&request(line, Kind::Load)) {
            Outcome::Miss {
                evicted: Some(evicted),
            } => Some(evicted.line),
            _ => None,
        };
        // The fourth makes all referenced: only its own bit stays.
        assert_eq!([10, 11, 12, 13].map(&mut evicted), [None; 4]);
        assert_eq!(evicted(10), None);
        assert_eq!([14, 15].map(&mut evicted), [Some(11), Some(12)]);
        // Now all are referenced again, and only 15 has kept its bit.
        assert_eq!(evicted(16), Some(10));
    }
}
