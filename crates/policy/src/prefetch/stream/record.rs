//! How well fetched pages have served, and how far that is to be trusted.

use super::Settings;
use crate::prefetch::Outcome;

/// What became of fetched pages, lately.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Share of them that were used, the latest weighing most: 0 to 1.
    accuracy: f64,
    /// How many that were.
    outcomes: u32,
}

/// Weight of one outcome in a record.
const NEWEST: f64 = 1.0 / 128.0;
/// Outcomes after which a record says something by itself.
const ENOUGH: u32 = 32;
/// A fetched page that is used saves a fault; one that is not costs a read and pushes another
/// out ([`crate::prefetch::Costs::break_even`] of a disk). From this accuracy on a stream is
/// believed at once; each fortieth below it asks for twice as many faults more.
const WORTHWHILE: f64 = 0.53;
/// A stream that has shown so many faults is one, whatever has been.
const MOST_PROOF: u32 = 32;
/// Below this accuracy streams stay short of their full depth: they are often overrun.
const RELIABLE: f64 = 0.8;
/// Below this accuracy streams stay shallow.
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

    /// Whether it is long enough to say something by itself.
    pub(super) fn is_telling(&self) -> bool {
        self.outcomes >= ENOUGH
    }

    /// How many faults more than three a new stream must show before it is believed.
    pub(super) fn proof(&self) -> u32 {
        let fortieths = (WORTHWHILE - self.accuracy) * 40.0;
        if fortieths <= 0.0 {
            0
        } else {
            (fortieths.exp2() as u32).min(MOST_PROOF)
        }
    }

    /// The deepest prediction that it allows.
    pub(super) fn limit(&self, settings: &Settings) -> u64 {
        match self.accuracy {
            a if a < DOUBTFUL => settings.first / 4,
            a if a < WORTHWHILE => settings.first,
            a if a < RELIABLE => settings.depth / 4,
            _ => settings.depth,
        }
    }
}
