//! `nhm`: a static partitioning of the LRU stack (Fedorov 2016, 2.2).
//!
//! The n most recently used lines of a set are its high-hit partition and are kept. Of the others
//! the least recent clean one is evicted, for that costs no write-back; if all are dirty, the least
//! recent. Written nHm, with m ways: 16H16 is LRU. New lines are put at MRU, or at the top of the
//! low-hit partition (LH, 2.2.2), where they do not disturb those that are kept.

use super::{Choice, Geometry, InForce, LlcPolicy, Place, Recency, Request};
use crate::params::Params;

/// Where a new line is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// Before all others.
    Mru,
    /// At the top of the low-hit partition.
    Low,
}

impl Insertion {
    /// As they are written.
    pub const CHOICES: &[(&str, Self)] = &[("mru", Self::Mru), ("lh", Self::Low)];

    /// Behind how many lines of a set that is, with `high` ways in the high-hit partition.
    #[inline]
    pub fn position(self, high: usize) -> usize {
        match self {
            Self::Mru => 0,
            Self::Low => high,
        }
    }
}

/// The policy.
pub struct Nhm {
    recency: Recency,
    high: usize,
    /// For lines that are read.
    clean: Insertion,
    /// For lines that the level above writes back.
    dirty: Insertion,
}

impl Nhm {
    /// For a cache of this shape.
    ///
    /// # Errors
    /// A sentence where a setting is out of range.
    pub fn new(geometry: Geometry, params: &mut Params) -> Result<Self, String> {
        let quarter = geometry.ways / 4;
        Ok(Self {
            recency: Recency::new(geometry),
            high: params.number("n", quarter, 0..=geometry.ways)?,
            clean: params.choice("insert", Insertion::Mru, Insertion::CHOICES)?,
            dirty: params.choice("dirty", Insertion::Mru, Insertion::CHOICES)?,
        })
    }
}

impl LlcPolicy for Nhm {
    #[inline]
    fn hit(&mut self, place: Place, _: &Request) {
        self.recency.promote(place);
    }

    #[inline]
    fn choose(&mut self, set: usize, dirty: u64, _: &Request) -> Choice {
        Choice::Evict(self.recency.victim(set, self.high, dirty))
    }

    #[inline]
    fn fill(&mut self, place: Place, request: &Request) {
        let insertion = match request.kind.writes() {
            true => self.dirty,
            false => self.clean,
        };
        self.recency.put(place, insertion.position(self.high));
    }

    #[inline]
    fn position(&self, place: Place) -> Option<usize> {
        Some(self.recency.position(place))
    }

    fn in_force(&self) -> Option<InForce> {
        Some(InForce {
            high: self.high,
            low_insertion: self.clean == Insertion::Low,
        })
    }
}
