//! When a program is watched: being watched is not free, and seldom worth it where nothing could
//! be foreseen of late.

use std::time::{Duration, Instant};

/// How long it is watched before it is judged whether that was worth it.
const WATCH: Duration = Duration::from_millis(100);
/// Faults that are enough to judge by, and the share of them that fetched pages have to spare.
const ENOUGH_FAULTS: u64 = 64;
const WORTH: u64 = 16;
/// How long it is not watched then: at first, and at most.
const REST: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// When it is watched, and when not, because nothing could be foreseen of late.
pub(super) struct Shift {
    watching: bool,
    since: Instant,
    /// How long the next rest takes.
    rest: Duration,
    /// Faults seen and faults spared when it began.
    seen: u64,
    spared: u64,
}

impl Shift {
    /// It is watched at first.
    pub(super) fn new() -> Self {
        Self {
            watching: true,
            since: Instant::now(),
            rest: REST.0,
            seen: 0,
            spared: 0,
        }
    }

    /// Whether it is watched now.
    pub(super) fn is_watching(&self) -> bool {
        self.watching
    }

    /// Whether to watch from now on, where that changes: `seen` faults were seen and `spared`
    /// spared so far.
    pub(super) fn tick(&mut self, seen: u64, spared: u64) -> Option<bool> {
        let took = if self.watching { WATCH } else { self.rest };
        if self.since.elapsed() < took {
            return None;
        }
        let (faults, gained) = (seen - self.seen, spared - self.spared);
        let turn = match self.watching {
            true if faults < ENOUGH_FAULTS => false,
            true if gained * WORTH >= faults => {
                self.rest = REST.0;
                false
            }
            true => true,
            false => {
                self.rest = (self.rest * 2).min(REST.1);
                true
            }
        };
        self.watching ^= turn;
        (self.since, self.seen, self.spared) = (Instant::now(), seen, spared);
        turn.then_some(self.watching)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets the time pass that the shift takes.
    fn tick(shift: &mut Shift, seen: u64, spared: u64) -> Option<bool> {
        shift.since -= WATCH.max(shift.rest);
        shift.tick(seen, spared)
    }

    #[test]
    fn watching_goes_on_while_it_is_worth_it_and_rests_ever_longer_else() {
        let mut shift = Shift::new();
        assert_eq!(shift.tick(1000, 0), None, "too early");
        assert_eq!(tick(&mut shift, 10, 0), None, "too few faults");
        assert_eq!(tick(&mut shift, 1010, 100), None, "worth it");
        assert_eq!(tick(&mut shift, 2010, 110), Some(false));
        assert_eq!(tick(&mut shift, 2010, 110), Some(true));
        assert_eq!(tick(&mut shift, 3010, 110), Some(false));
        assert_eq!(shift.rest, REST.0 * 2);
        assert_eq!(tick(&mut shift, 3010, 110), Some(true));
        assert_eq!(tick(&mut shift, 4010, 1110), None);
        assert_eq!(shift.rest, REST.0);
    }
}
