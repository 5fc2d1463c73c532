//! `dip`: dynamic insertion policy (Qureshi et al., "Adaptive insertion policies for high
//! performance caching", ISCA 2007).
//!
//! LRU that puts new lines at MRU duels with one that puts nearly all of them at LRU (bimodal
//! insertion, BIP): there a working set larger than the cache keeps at least part of itself. 32
//! leader sets each, a counter of 10 bits, every 32nd line of BIP at MRU. A line that the level
//! above writes back is treated as one that is read: inserted alike, promoted alike, and its miss
//! counts.

use super::{Bimodal, Choice, Duel, Geometry, LlcPolicy, Place, Recency, Request};
use crate::params::Params;

/// The policy.
pub struct Dip {
    recency: Recency,
    last: usize,
    duel: Duel,
    bimodal: Bimodal,
}

impl Dip {
    /// For a cache of this shape.
    ///
    /// # Errors
    /// A sentence where a setting is out of range.
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Result<Self, String> {
        Ok(Self {
            recency: Recency::new(geometry),
            last: geometry.ways - 1,
            duel: Duel::new(geometry, params, seed)?,
            bimodal: Bimodal::new(params)?,
        })
    }
}

impl LlcPolicy for Dip {
    fn hit(&mut self, place: Place, _: &Request) {
        self.recency.promote(place);
    }

    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        Choice::Evict(self.recency.last(set))
    }

    fn fill(&mut self, place: Place, _: &Request) {
        let at_lru = self.duel.missed(place.set) && !self.bimodal.is_due();
        self.recency.put(place, if at_lru { self.last } else { 0 });
    }

    fn position(&self, place: Place) -> Option<usize> {
        Some(self.recency.position(place))
    }

    fn storage_bits(&self) -> u64 {
        self.duel.storage_bits() + self.bimodal.storage_bits()
    }
}
