//! The duty cycle of sampling: a program pays for being watched, so where fetches have won little
//! time of late, sampling rests for a while.

use std::time::{Duration, Instant};

use terrace_policy::prefetch::{Costs, Worth};

/// Length of a sampling period, after which its benefit is judged.
const WATCH: Duration = Duration::from_millis(100);
/// Faults that suffice to judge, and the part of their time, one in `SHARE`, that fetches have to win.
const ENOUGH_FAULTS: u64 = 64;
const SHARE: f64 = 16.0;
/// Length of a rest: at first, and at most.
const REST: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// Periods of sampling and of rest in turn.
pub(super) struct DutyCycle {
    sampling: bool,
    since: Instant,
    /// Length of the next rest.
    rest: Duration,
    /// Faults seen and worth of all fetches at the start of the period.
    seen: u64,
    worth: Worth,
}

impl DutyCycle {
    /// Starts with a sampling period.
    pub(super) fn new() -> Self {
        Self {
            sampling: true,
            since: Instant::now(),
            rest: REST.0,
            seen: 0,
            worth: Worth::default(),
        }
    }

    /// Whether the present period samples.
    pub(super) fn is_sampling(&self) -> bool {
        self.sampling
    }

    /// Returns whether to sample from now on, if that changes. `seen` faults were seen so far, and
    /// all fetches are worth this, at these costs.
    pub(super) fn tick(&mut self, seen: u64, worth: Worth, costs: &Costs) -> Option<bool> {
        let took = if self.sampling { WATCH } else { self.rest };
        if self.since.elapsed() < took {
            return None;
        }
        let (faults, gained) = (seen - self.seen, worth - self.worth);
        let won = gained.won(costs) - gained.lost(costs);
        let waited = costs.demand.as_secs_f64() * faults as f64;
        let turn = match self.sampling {
            true if faults < ENOUGH_FAULTS => false,
            true if won * SHARE >= waited => {
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
        (self.since, self.seen, self.worth) = (Instant::now(), seen, worth);
        turn.then_some(self.sampling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks after the end of the present period.
    fn tick(cycle: &mut DutyCycle, seen: u64, used: u64) -> Option<bool> {
        cycle.since -= WATCH.max(cycle.rest);
        let worth = Worth {
            used,
            ..Worth::default()
        };
        cycle.tick(seen, worth, &Costs::DISK)
    }

    #[test]
    fn sampling_goes_on_while_it_pays_and_rests_ever_longer_otherwise() {
        let mut cycle = DutyCycle::new();
        assert_eq!(
            cycle.tick(1000, Worth::default(), &Costs::DISK),
            None,
            "too early"
        );
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

    #[test]
    fn what_is_wasted_or_redundant_is_no_reason_to_sample() {
        for (wasted, redundant, turn) in
            [(0, 0, None), (300, 0, Some(false)), (0, 9000, Some(false))]
        {
            let mut cycle = DutyCycle::new();
            cycle.since -= WATCH;
            let worth = Worth {
                used: 300,
                wasted,
                redundant,
                ..Worth::default()
            };
            assert_eq!(cycle.tick(1000, worth, &Costs::DISK), turn, "{worth:?}");
        }
    }
}
