//! Steps to reclaim that find nothing, and the pauses behind them.
//!
//! A service that has nothing left to reclaim would cost the more the less it has, if a driver
//! searched it at every look.

use std::time::Duration;

use super::Moved;

/// Steps that may find nothing, one behind the other: it takes some seconds until it is known
/// whether pages are cold. After these there is a pause, twice as long after each further one.
const FRUITLESS: u32 = 4;
/// The first pause, and the longest.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// How the search for cold memory goes.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// Steps that found nothing, one behind the other.
    fruitless: u32,
    until: Duration,
}

impl Search {
    /// Notes what a step came to that was decided at `time`.
    pub fn found(&mut self, moved: Moved, time: Duration) {
        if moved != Moved::default() {
            self.fruitless = 0;
            return;
        }
        self.fruitless = self.fruitless.saturating_add(1);
        if let Some(more) = self.fruitless.checked_sub(FRUITLESS) {
            let pause = FIRST.saturating_mul(2_u32.saturating_pow(more));
            self.until = time + pause.min(LONGEST);
        }
    }

    /// Whether nothing was found a short while before `time`.
    pub fn pauses(&self, time: Duration) -> bool {
        time < self.until
    }
}
