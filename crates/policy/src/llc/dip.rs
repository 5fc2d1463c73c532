//! `dip`: dynamic insertion policy (Qureshi et al., "Adaptive insertion policies for high
//! performance caching", ISCA 2007).
//!
//! LRU with insertion at MRU duels with LRU that inserts nearly all new lines at LRU (bimodal
//! insertion, BIP), which keeps a part of a working set larger than the cache. Each has 32 leader
//! sets, the counter has 10 bits, and every 32nd line of BIP is inserted at MRU. A line that the
//! level above writes back is treated like one that is read: it is inserted and promoted alike, and
//! its miss counts.

use super::{Choice, Duel, Entry, Geometry, LlcPolicy, Make, Place, Recency, Request, Victim};
use crate::params::Params;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "dip",
    summary: "LRU, or nearly all new lines at LRU: sets duel (Qureshi et al., ISCA 2007)",
    paper: "Qureshi et al., Adaptive insertion policies, ISCA 2007",
    when: "Working sets larger than the cache that are walked over again and again.",
    evidence: crate::registry::Evidence {
        open: "How lines that the level above writes back are treated: here as those that are \
               read.",
        compared: "the averages of Fedorov 2016, 2.4 (papers/fedorov-2016-ch2): misses saved \
                   within two points",
    },
    make: Make::ByLine(&|geometry, params, seed| Ok(Box::new(Dip::new(geometry, params, seed)?))),
};

/// The `dip` policy.
pub struct Dip {
    recency: Recency,
    last: usize,
    duel: Duel,
}

impl Dip {
    /// Makes the policy for a cache of this shape.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Result<Self, String> {
        Ok(Self {
            recency: Recency::new(geometry),
            last: geometry.ways - 1,
            duel: Duel::new(geometry, params, seed)?,
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
        let at_lru = self.duel.missed(place.set);
        self.recency.put(place, if at_lru { self.last } else { 0 });
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    fn take(&mut self, place: Place, _: &Request) {
        self.recency.retire(place);
    }

    fn pass(&mut self, set: usize, _: &Request) {
        self.duel.passed(set);
    }

    /// A line that was hit here comes back as its hit would have left it.
    fn insert(&mut self, place: Place, _: &Request, victim: Victim) {
        let at_lru = self.duel.came(place.set) && !victim.reused;
        self.recency.put(place, if at_lru { self.last } else { 0 });
    }

    fn position(&self, place: Place) -> Option<usize> {
        Some(self.recency.position(place))
    }

    fn low_hit(&self, place: Place) -> Option<bool> {
        Some(self.recency.in_last_quarter(place))
    }

    fn storage_bits(&self) -> u64 {
        self.duel.storage_bits()
    }
}
