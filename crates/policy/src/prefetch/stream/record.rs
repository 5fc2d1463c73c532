//! Record of how well fetched pages have served, and the trust that follows from it.

use super::StreamSettings;
use crate::prefetch::Outcome;

/// Outcomes of the latest fetched pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Share of the pages that were used, from 0 to 1; the latest weigh most.
    accuracy: f64,
    /// Number of outcomes.
    outcomes: u32,
}

/// Weight of one outcome in a record.
const NEWEST: f64 = 1.0 / 128.0;
/// Outcomes after which a record is used by itself.
const ENOUGH: u32 = 32;
/// Accuracy from which a stream is trusted at once. A used fetch saves a fault; an unused one costs
/// a read and evicts another page ([`crate::prefetch::Costs::break_even`] of a disk). Each fortieth
/// below it doubles the number of further faults that are needed.
const WORTHWHILE: f64 = 0.53;
/// Most faults needed to trust a stream, whatever its record.
const MOST_PROOF: u32 = 32;
/// Accuracy below which streams stay short of their full depth: they are often overrun.
const RELIABLE: f64 = 0.8;
/// Accuracy below which streams stay shallow.
const DOUBTFUL: f64 = 0.3;

impl Record {
    pub(super) const UNKNOWN: Self = Self {
        accuracy: WORTHWHILE,
        outcomes: 0,
    };

    pub(super) fn count(&mut self, outcome: Outcome) {
        let used = if outcome == Outcome::Wasted { 0.0 } else { 1.0 };
        self.accuracy += (used - self.accuracy) * NEWEST;
        self.outcomes = self.outcomes.saturating_add(1);
    }

    pub(super) fn is_proven(&self) -> bool {
        self.is_telling() && self.accuracy >= WORTHWHILE
    }

    /// Whether the record is long enough to be used by itself.
    pub(super) fn is_telling(&self) -> bool {
        self.outcomes >= ENOUGH
    }

    /// Number of faults beyond three that a new stream must show before it is trusted.
    pub(super) fn proof(&self) -> u32 {
        let fortieths = (WORTHWHILE - self.accuracy) * 40.0;
        if fortieths <= 0.0 {
            0
        } else {
            (fortieths.exp2() as u32).min(MOST_PROOF)
        }
    }

    /// Returns the depth of the deepest prediction that the record allows.
    pub(super) fn limit(&self, settings: &StreamSettings) -> u64 {
        match self.accuracy {
            a if a < DOUBTFUL => settings.first / 4,
            a if a < WORTHWHILE => settings.first,
            a if a < RELIABLE => settings.depth / 4,
            _ => settings.depth,
        }
    }
}
