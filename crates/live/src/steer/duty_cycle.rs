//! The duty cycle of sampling: a program pays for being watched, so where fetches have won little
//! time of late, sampling rests for a while. Trials decide for as long as one is under way.

use std::time::Duration;

use terrace_policy::prefetch::{Costs, Worth};

use super::trials::Trials;

/// Length of a sampling period, after which its benefit is judged.
const WATCH: Duration = Duration::from_millis(100);
/// Faults that suffice to judge, and the part of their time, one in `SHARE`, that fetches have to
/// win.
const ENOUGH_FAULTS: u64 = 64;
const SHARE: f64 = 16.0;
/// Length of a rest: at first, and at most.
const REST: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// Periods of sampling and of rest in turn, and trials of fetching within them.
pub(super) struct DutyCycle {
    sampling: bool,
    trials: Trials,
    /// Time at which the period began.
    since: Duration,
    /// Time of the last tick, and time without fetches until then.
    ticked: Duration,
    rested: Duration,
    /// Length of the next rest.
    rest: Duration,
    /// Faults seen and worth of all fetches at the start of the period.
    seen: u64,
    worth: Worth,
}

impl DutyCycle {
    /// Starts with a sampling period at `now`.
    pub(super) fn new(now: Duration, trials: Trials) -> Self {
        Self {
            sampling: true,
            trials,
            since: now,
            ticked: now,
            rested: Duration::ZERO,
            rest: REST.0,
            seen: 0,
            worth: Worth::default(),
        }
    }

    /// Whether faults are sampled now.
    pub(super) fn is_sampling(&self) -> bool {
        self.trials.prescribes().unwrap_or(self.sampling)
    }

    /// Whether nothing ends soon: an arm of a trial does.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.is_sampling() && !self.trials.is_measuring()
    }

    /// Whether pages may be fetched now: in a rest those, too, that were foreseen before, but not
    /// in an arm without fetches.
    pub(super) fn may_fetch(&self) -> bool {
        self.trials.prescribes().unwrap_or(true)
    }

    /// Returns for how long no pages might be fetched.
    pub(super) fn rested(&self) -> Duration {
        self.rested
    }

    /// Goes on at `now`; returns whether to sample from now on, if that changes. `seen` faults were
    /// seen so far, and all fetches are worth this, at these costs; `wanted` tells whether more is
    /// gained by watching than that.
    pub(super) fn tick(
        &mut self,
        now: Duration,
        seen: u64,
        worth: Worth,
        costs: &Costs,
        wanted: bool,
    ) -> Option<bool> {
        let passed = now.saturating_sub(std::mem::replace(&mut self.ticked, now));
        if !self.may_fetch() {
            self.rested += passed;
        }
        let before = self.is_sampling();
        if self.trials.prescribes().is_some() {
            self.trials.tick(now);
            // What was seen within a trial does not count in the period behind it.
            self.sampling = true;
            (self.since, self.seen, self.worth) = (now, seen, worth);
        } else {
            self.judge(now, seen, worth, costs, wanted);
        }
        let after = self.is_sampling();
        (after != before).then_some(after)
    }

    /// Ends the period if it has lasted long enough.
    fn judge(&mut self, now: Duration, seen: u64, worth: Worth, costs: &Costs, wanted: bool) {
        let took = now.saturating_sub(self.since);
        if took < if self.sampling { WATCH } else { self.rest } {
            return;
        }
        let (faults, gained) = (seen - self.seen, worth - self.worth);
        (self.since, self.seen, self.worth) = (now, seen, worth);
        if !self.sampling {
            self.rest = (self.rest * 2).min(REST.1);
            self.sampling = true;
            return;
        }
        let won = gained.won(costs) - gained.lost(costs);
        let waited = costs.demand.as_secs_f64() * faults as f64;
        if wanted {
            return;
        }
        if faults >= ENOUGH_FAULTS && won * SHARE < waited {
            self.sampling = false;
            return;
        }
        if faults >= ENOUGH_FAULTS {
            self.rest = REST.0;
        }
        if gained.pages() >= ENOUGH_FAULTS {
            self.trials.fetched(took, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use terrace_base::lock;

    fn cycle() -> DutyCycle {
        DutyCycle::new(Duration::ZERO, Trials::new(1, None))
    }

    /// Ticks after the end of the present period.
    fn tick(cycle: &mut DutyCycle, seen: u64, used: u64) -> Option<bool> {
        let worth = Worth {
            used,
            ..Worth::default()
        };
        let now = cycle.since + WATCH.max(cycle.rest);
        cycle.tick(now, seen, worth, &Costs::DISK, false)
    }

    #[test]
    fn sampling_goes_on_while_it_pays_and_rests_ever_longer_otherwise() {
        let mut cycle = cycle();
        let early = cycle.tick(WATCH / 2, 1000, Worth::default(), &Costs::DISK, false);
        assert_eq!(early, None, "too early");
        assert_eq!(tick(&mut cycle, 10, 0), None, "too few faults");
        assert_eq!(tick(&mut cycle, 1010, 100), None, "worth it");
        assert_eq!(tick(&mut cycle, 2010, 110), Some(false));
        assert!(cycle.may_fetch(), "what was foreseen before");
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
            let worth = Worth {
                used: 300,
                wasted,
                redundant,
                ..Worth::default()
            };
            let found = cycle().tick(WATCH, 1000, worth, &Costs::DISK, false);
            assert_eq!(found, turn, "{worth:?}");
        }
    }

    /// By the ledger fetches seem to pay, but the program touches pages faster without.
    #[test]
    fn a_trial_may_find_against_the_ledger() {
        let faults = Arc::new(Mutex::new(0));
        let gauge = Arc::clone(&faults);
        let trials = Trials::new(1, Some(Box::new(move || Some(*lock(&gauge)))));
        let mut cycle = DutyCycle::new(Duration::ZERO, trials);
        let mut worth = Worth::default();
        for millis in 1..=3000u64 {
            let fetches = cycle.may_fetch();
            *lock(&faults) += if fetches { 40 } else { 50 };
            worth.used += 10 * u64::from(fetches);
            let now = Duration::from_millis(millis);
            cycle.tick(now, 5 * millis, worth, &Costs::DISK, false);
        }
        let rested = cycle.rested();
        assert!(rested > Duration::from_secs(1), "{rested:?}");
    }
}
