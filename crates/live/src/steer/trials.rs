//! Trials of fetching while a program runs: when arms begin and end, and what follows from them.

use std::time::Duration;

use terrace_policy::prefetch::trial::{Arm, Finding, Trial};

/// Parts of an arm: pages that were fetched before it are used up first, then it is measured.
const SETTLE: Duration = Duration::from_millis(10);
const MEASURE: Duration = Duration::from_millis(20);
/// Time of fetching between two pairs, at first and at most. The arm without fetches, 30 ms, is a
/// fortieth of the least one: that is what a trial costs a program for which fetching pays.
const GAP: (Duration, Duration) = (Duration::from_millis(1200), Duration::from_secs(10));
/// Time without fetching after a trial that found against it, at first and at most.
const REST: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(16));

/// Counts the faults of all kinds of the program so far.
pub type Gauge = Box<dyn FnMut() -> Option<u64> + Send>;

/// Trials, one after the other.
pub(super) struct Trials {
    trial: Trial,
    /// `None` where faults cannot be counted; then there are no trials.
    gauge: Option<Gauge>,
    state: State,
    /// Time of fetching until the next pair.
    left: Duration,
    gap: Duration,
    rest: Duration,
}

enum State {
    /// No arm: others decide whether to fetch.
    Free,
    /// The beginning of an arm, until this time.
    Settling(Duration),
    /// The measured part of an arm since this time, and the faults until then.
    Measuring(Duration, u64),
    /// No fetching, until this time.
    Resting(Duration),
}

impl Trials {
    /// Starts without an arm.
    pub(super) fn new(seed: u64, gauge: Option<Gauge>) -> Self {
        Self {
            trial: Trial::new(seed),
            gauge,
            state: State::Free,
            left: GAP.0,
            gap: GAP.0,
            rest: REST.0,
        }
    }

    /// Notes that there was fetching for `time`; begins an arm if it is time for it.
    pub(super) fn fetched(&mut self, time: Duration, now: Duration) {
        self.left = self.left.saturating_sub(time);
        if self.left.is_zero() && self.gauge.is_some() {
            self.state = State::Settling(now + SETTLE);
        }
    }

    /// Returns whether to fetch now; `None` if others decide.
    pub(super) fn prescribes(&self) -> Option<bool> {
        match self.state {
            State::Free => None,
            State::Settling(_) | State::Measuring(..) => Some(self.trial.fetches()),
            State::Resting(_) => Some(false),
        }
    }

    /// Whether an arm is under way.
    pub(super) fn is_measuring(&self) -> bool {
        matches!(self.state, State::Settling(_) | State::Measuring(..))
    }

    /// Goes on with what is under way.
    pub(super) fn tick(&mut self, now: Duration) {
        match self.state {
            State::Settling(until) if now >= until => match self.read() {
                Some(faults) => self.state = State::Measuring(now, faults),
                None => self.give_up(),
            },
            State::Measuring(since, before) if now >= since + MEASURE => match self.read() {
                Some(faults) => self.end_arm(faults.saturating_sub(before), now - since, now),
                None => self.give_up(),
            },
            // Fetching has to prove itself at once.
            State::Resting(until) if now >= until => self.state = State::Settling(now + SETTLE),
            _ => {}
        }
    }

    fn end_arm(&mut self, touched: u64, time: Duration, now: Duration) {
        let finding = self.trial.end(Arm { touched, time });
        self.state = match finding {
            Finding::HalfPair => State::Settling(now + SETTLE),
            // An arm without fetches costs nothing where they lose.
            Finding::Undecided if self.trial.is_against() => State::Settling(now + SETTLE),
            Finding::Undecided => {
                self.left = self.gap;
                State::Free
            }
            Finding::Pays => {
                self.gap = (self.gap * 2).min(GAP.1);
                self.left = self.gap;
                self.rest = REST.0;
                State::Free
            }
            Finding::DoesNotPay => {
                let rest = self.rest;
                self.rest = (rest * 2).min(REST.1);
                self.gap = GAP.0;
                State::Resting(now + rest)
            }
        };
    }

    fn read(&mut self) -> Option<u64> {
        self.gauge.as_mut()?()
    }

    /// Ends the trials, because the kernel tells nothing any more.
    fn give_up(&mut self) {
        self.gauge = None;
        self.trial.cancel();
        self.state = State::Free;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use terrace_base::lock;

    const STEP: Duration = Duration::from_millis(1);

    /// Runs a program for `time` that touches so many pages in each millisecond with fetches, and
    /// without; returns for how much of the time it fetched.
    fn share(time: Duration, with: u64, without: u64) -> f64 {
        let faults = Arc::new(Mutex::new(0));
        let gauge = Arc::clone(&faults);
        let mut trials = Trials::new(7, Some(Box::new(move || Some(*lock(&gauge)))));
        let (mut now, mut fetched) = (Duration::ZERO, Duration::ZERO);
        while now < time {
            now += STEP;
            let fetches = trials.prescribes().unwrap_or(true);
            fetched += STEP * u32::from(fetches);
            *lock(&faults) += if fetches { with } else { without };
            match trials.prescribes() {
                None => trials.fetched(STEP, now),
                Some(_) => trials.tick(now),
            }
        }
        fetched.as_secs_f64() / time.as_secs_f64()
    }

    #[test]
    fn where_fetching_pays_little_time_is_spent_without() {
        for seconds in [1, 2, 5, 60, 600] {
            let share = share(Duration::from_secs(seconds), 80, 10);
            assert!(share > 0.97, "{share} of {seconds} s");
        }
        assert!(share(Duration::from_secs(600), 80, 10) > 0.99);
    }

    #[test]
    fn where_it_does_not_pay_it_soon_rests() {
        let short = share(Duration::from_secs(3), 40, 50);
        assert!(short < 0.6, "{short}");
        let long = share(Duration::from_secs(600), 40, 50);
        assert!(long < 0.02, "{long}");
    }

    #[test]
    fn a_program_that_touches_nothing_is_left_alone() {
        let share = share(Duration::from_secs(100), 0, 0);
        assert!(share > 0.97, "{share}");
    }

    #[test]
    fn a_gauge_that_fails_ends_the_trials() {
        let mut trials = Trials::new(7, Some(Box::new(|| None)));
        trials.fetched(GAP.0, Duration::ZERO);
        assert!(trials.prescribes().is_some());
        trials.tick(SETTLE);
        assert_eq!(trials.prescribes(), None);
        trials.fetched(GAP.1, GAP.1);
        assert_eq!(trials.prescribes(), None);
    }
}
