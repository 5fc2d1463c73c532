//! The duty cycle of sampling: a program pays for being watched, so where predictions have spared few
//! faults of late, sampling rests for a while.

use std::time::{Duration, Instant};

/// Length of a sampling period, after which its benefit is judged.
const WATCH: Duration = Duration::from_millis(100);
/// Faults that suffice to judge, and the part of them, one in `WORTH`, that fetched pages have to spare.
const ENOUGH_FAULTS: u64 = 64;
const WORTH: u64 = 16;
/// Length of a rest: at first, and at most.
const REST: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// Periods of sampling and of rest in turn.
pub(super) struct DutyCycle {
    sampling: bool,
    since: Instant,
    /// Length of the next rest.
    rest: Duration,
    /// Faults seen and faults spared at the start of the period.
    seen: u64,
    spared: u64,
}

impl DutyCycle {
    /// Starts with a sampling period.
    pub(super) fn new() -> Self {
        Self {
            sampling: true,
            since: Instant::now(),
            rest: REST.0,
            seen: 0,
            spared: 0,
        }
    }

    /// Whether the present period samples.
    pub(super) fn is_sampling(&self) -> bool {
        self.sampling
    }

    /// Returns whether to sample from now on, if that changes. `seen` faults were seen and `spared`
    /// were spared so far.
    pub(super) fn tick(&mut self, seen: u64, spared: u64) -> Option<bool> {
        let took = if self.sampling { WATCH } else { self.rest };
        if self.since.elapsed() < took {
            return None;
        }
        let (faults, gained) = (seen - self.seen, spared - self.spared);
        let turn = match self.sampling {
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
        self.sampling ^= turn;
        (self.since, self.seen, self.spared) = (Instant::now(), seen, spared);
        turn.then_some(self.sampling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks after the end of the present period.
    fn tick(cycle: &mut DutyCycle, seen: u64, spared: u64) -> Option<bool> {
        cycle.since -= WATCH.max(cycle.rest);
        cycle.tick(seen, spared)
    }

    #[test]
    fn sampling_goes_on_while_it_pays_and_rests_ever_longer_otherwise() {
        let mut cycle = DutyCycle::new();
        assert_eq!(cycle.tick(1000, 0), None, "too early");
        assert_eq!(tick(&mut cycle, 10, 0), None, "too few faults");
        assert_eq!(tick(&mut cycle, 1010, 100), None, "worth it");
        assert_eq!(tick(&mut cycle, 2010, 110), Some(false));
        assert_eq!(tick(&mut cycle, 2010, 110), Some(true));
        assert_eq!(tick(&mut cycle, 3010, 110), Some(false));
        assert_eq!(cycle.rest, REST.0 * 2);
        assert_eq!(tick(&mut cycle, 3010, 110), Some(true));
        assert_eq!(tick(&mut cycle, 4010, 1110), None);
        assert_eq!(cycle.rest, REST.0);
    }
}
