//! `nhm`: a static partitioning of the LRU stack (Fedorov 2016, 2.2).
//!
//! The n most recently used lines of a set are its high-hit partition and are kept. Of the others
//! the least recent clean one is evicted, because that costs no write-back; if all are dirty, the
//! least recent. The partitioning is written nHm, with m ways: 16H16 is LRU. New lines are put at
//! MRU, or at the top of the low-hit partition (LH, 2.2.2), where they do not displace kept lines.

use super::{Choice, Entry, Geometry, InForce, LlcPolicy, Make, Place, Recency, Request, Victim};
use crate::params::Params;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "nhm",
    summary: "a static partitioning nHm: of all but the n most recent the least recent clean line (Fedorov 2016, 2.2)",
    paper: "Fedorov 2016, 2.2",
    when: "To see what one partitioning does, which `ari` would choose from.",
    evidence: crate::registry::Evidence {
        open: "",
        compared: "the averages of Fedorov 2016, 2.4 (papers/fedorov-2016-ch2): misses saved \
                   within two points (n=4)",
    },
    make: Make::ByLine(&|geometry, params, _| Ok(Box::new(Nhm::new(geometry, params)?))),
};

/// Position of new lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// Before all others.
    Mru,
    /// At the top of the low-hit partition.
    Low,
}

impl Insertion {
    /// Names of the insertions.
    pub const NAMES: [(&str, Self); 2] = [("mru", Self::Mru), ("lh", Self::Low)];

    /// Returns the number of lines of the set before a new line, with `high` ways in the high-hit
    /// partition.
    #[inline]
    pub fn position(self, high: usize) -> usize {
        match self {
            Self::Mru => 0,
            Self::Low => high,
        }
    }
}

settings! {
    /// Settings of `nhm`.
    pub struct NhmSettings(geometry: Geometry) {
        /// most recent lines of a set that are kept, written nHm
        high as "n": usize = geometry.ways / 4, 0..=geometry.ways;
        /// where new lines go: at MRU, or at the top of the low-hit partition
        clean as "insert": Insertion = Insertion::Mru, Insertion::NAMES;
        /// where lines go that are written back and were not there
        dirty: Insertion = Insertion::Mru, Insertion::NAMES;
    }
}

/// The `nhm` policy.
pub struct Nhm {
    recency: Recency,
    settings: NhmSettings,
}

impl Nhm {
    /// Makes the policy for a cache of this shape.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params) -> Result<Self, String> {
        Ok(Self {
            recency: Recency::new(geometry),
            settings: NhmSettings::take(params, geometry)?,
        })
    }

    /// Puts a new line into the order.
    #[inline]
    fn put(&mut self, place: Place, dirty: bool) {
        let insertion = match dirty {
            true => self.settings.dirty,
            false => self.settings.clean,
        };
        self.recency
            .put(place, insertion.position(self.settings.high));
    }
}

impl LlcPolicy for Nhm {
    #[inline]
    fn hit(&mut self, place: Place, _: &Request) {
        self.recency.promote(place);
    }

    #[inline]
    fn choose(&mut self, set: usize, dirty: u64, _: &Request) -> Choice {
        Choice::Evict(self.recency.victim(set, self.settings.high, dirty))
    }

    #[inline]
    fn fill(&mut self, place: Place, request: &Request) {
        self.put(place, request.kind.writes());
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    fn take(&mut self, place: Place, _: &Request) {
        self.recency.retire(place);
    }

    fn insert(&mut self, place: Place, _: &Request, victim: Victim) {
        self.put(place, victim.dirty);
    }

    #[inline]
    fn position(&self, place: Place) -> Option<usize> {
        Some(self.recency.position(place))
    }

    fn low_hit(&self, place: Place) -> Option<bool> {
        Some(self.recency.position(place) >= self.settings.high)
    }

    fn in_force(&self) -> Option<InForce> {
        Some(InForce {
            high: self.settings.high,
            low_insertion: self.settings.clean == Insertion::Low,
        })
    }
}
