//! `fifo`: evicts the line of the set that came first, however often it was used since.

use super::{Choice, Entry, Geometry, LlcPolicy, Make, Place, Recency, Request};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "fifo",
    summary: "first in, first out",
    paper: "Belady, IBM Systems Journal 5(2), 1966",
    when: "A baseline that a use does not change.",
    evidence: crate::registry::Evidence {
        open: "",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::ByLine(&|geometry, _, _| Ok(Box::new(Fifo::new(geometry)))),
};

/// The `fifo` policy.
pub struct Fifo(Recency);

impl Fifo {
    /// Makes the policy for a cache of this shape.
    pub fn new(geometry: Geometry) -> Self {
        Self(Recency::new(geometry))
    }
}

impl LlcPolicy for Fifo {
    #[inline]
    fn hit(&mut self, _: Place, _: &Request) {}

    #[inline]
    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        Choice::Evict(self.0.last(set))
    }

    #[inline]
    fn fill(&mut self, place: Place, _: &Request) {
        self.0.promote(place);
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }
}
