//! `lru`: evicts the line of the set that was used least recently.

use super::{Choice, Geometry, LlcPolicy, Place, Recency, Request};

/// The policy.
pub struct Lru(Recency);

impl Lru {
    /// For a cache of this shape.
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
}
