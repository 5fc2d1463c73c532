//! Accuracy of the latest fetches.

use super::Outcome;

/// Share of fetched pages that were used, in time or late, from 0 to 1: a decaying average in which
/// the latest outcomes weigh most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accuracy(f64);

/// Weight of one outcome: an outcome that is 64 outcomes old counts a little more than a third.
const NEWEST: f64 = 1.0 / 64.0;

impl Accuracy {
    /// Starts with an assumed accuracy.
    pub(super) fn assumed(share: f64) -> Self {
        Self(share)
    }

    pub(super) fn count(&mut self, outcome: Outcome) {
        let used = match outcome {
            Outcome::Used | Outcome::Late | Outcome::Reissued => 1.0,
            Outcome::Wasted => 0.0,
        };
        self.0 += (used - self.0) * NEWEST;
    }

    pub(super) fn share(self) -> f64 {
        self.0
    }
}
