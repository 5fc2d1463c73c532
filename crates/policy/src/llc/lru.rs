//! `lru`: evicts the line of the set that was used least recently.

use super::{Choice, Entry, Geometry, LlcPolicy, Make, Place, Recency, Request};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "lru",
    summary: "least recently used",
    paper: "Mattson et al., IBM Systems Journal 9(2), 1970",
    when: "The baseline and the default.",
    evidence: crate::registry::Evidence {
        open: "",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::ByLine(&|geometry, _, _| Ok(Box::new(Lru::new(geometry)))),
};

/// The `lru` policy.
pub struct Lru(Recency);

impl Lru {
    /// Makes the policy for a cache of this shape.
    pub fn new(geometry: Geometry) -> Self {
        Self(Recency::new(geometry))
    }
}

impl LlcPolicy for Lru {
    #[inline]
    fn hit(&mut self, place: Place, _: &Request) {
        self.0.promote(place);
    }

    #[inline]
    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        Choice::Evict(self.0.last(set))
    }

    #[inline]
    fn fill(&mut self, place: Place, _: &Request) {
        self.0.promote(place);
    }

    #[inline]
    fn position(&self, place: Place) -> Option<usize> {
        Some(self.0.position(place))
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    fn take(&mut self, place: Place, _: &Request) {
        self.0.retire(place);
    }

    fn low_hit(&self, place: Place) -> Option<bool> {
        Some(self.0.in_last_quarter(place))
    }
}
