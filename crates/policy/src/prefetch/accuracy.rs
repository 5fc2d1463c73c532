//! How many of the fetched pages were used, of late.

use super::Outcome;

/// Share of fetched pages that were used, in time or not: 0 to 1. An average that decays: the
/// latest outcomes weigh most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accuracy(f64);

/// Weight of one outcome: what is 64 outcomes old counts a little more than a third.
const NEWEST: f64 = 1.0 / 64.0;

impl Accuracy {
    /// What is assumed before there are outcomes.
    pub(super) fn assumed(share: f64) -> Self {
        Self(share)
    }

    pub(super) fn count(&mut self, outcome: Outcome) {
        let used = match outcome {
            Outcome::Used | Outcome::Late => 1.0,
            Outcome::Wasted => 0.0,
        };
        self.0 += (used - self.0) * NEWEST;
    }

    pub(super) fn share(self) -> f64 {
        self.0
    }
}
