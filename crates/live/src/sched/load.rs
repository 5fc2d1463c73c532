//! Whether a task is CPU-bound or sleeps, by the share of time in which it runs or wants to.

use std::collections::VecDeque;
use std::time::Duration;

/// Time that the looks have to cover before they tell anything, and at most.
const WINDOW: (Duration, Duration) = (Duration::from_millis(250), Duration::from_millis(500));
/// Share of time from which a task counts as CPU-bound, and below which it does no longer.
const SHARES: (f64, f64) = (0.8, 0.5);

/// What the kernel says of a task's time (Linux, `/proc/PID/schedstat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Time that it has run.
    pub run: Duration,
    /// Time that it has waited for a CPU, up to when it last got one.
    pub wait: Duration,
    /// How often it got one.
    pub count: u64,
}

/// The load of one task.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// Times of looks, with what the kernel said.
    looks: VecDeque<(Duration, Stat)>,
    /// When the task was last seen to have run.
    ran_at: Duration,
    told: bool,
    bound: bool,
}

impl Load {
    /// Presumes that the task is CPU-bound, or is not, until the looks tell.
    pub fn presume(&mut self, bound: bool) {
        if !self.is_told() {
            self.bound = bound;
        }
    }

    /// Whether the looks have told what the task is.
    pub fn is_told(&self) -> bool {
        self.told
    }

    /// Adds a look at time `now`, the same clock for all; `wants` tells whether the task runs or
    /// wants to, and is asked only if it has not run since the last look.
    pub fn look(&mut self, now: Duration, stat: Stat, wants: impl FnOnce() -> bool) {
        let last = self.looks.back().map(|(_, stat)| stat.run);
        let ran = last != Some(stat.run);
        if ran {
            self.ran_at = now;
        }
        self.looks.push_back((now, stat));
        while self.looks.len() > 2 && self.looks[1].0 + WINDOW.1 <= now {
            self.looks.pop_front();
        }
        // The kernel accounts for a wait when it is over.
        let waiting = match !ran && wants() {
            true => now.saturating_sub(self.ran_at),
            false => Duration::ZERO,
        };
        if let Some(share) = self.share(waiting) {
            self.told = true;
            self.bound = share >= if self.bound { SHARES.1 } else { SHARES.0 };
        }
    }

    /// Whether the task is CPU-bound.
    pub fn is_bound(&self) -> bool {
        self.bound
    }

    /// Returns the share of the time of the looks in which the task ran or waited, with a wait that
    /// is not over; `None` if it is too short.
    fn share(&self, waiting: Duration) -> Option<f64> {
        let ((first, before), (last, now)) = (self.looks.front()?, self.looks.back()?);
        let time = last.saturating_sub(*first);
        if time < WINDOW.0 {
            return None;
        }
        let busy = (now.run + now.wait).saturating_sub(before.run + before.wait) + waiting;
        Some(busy.as_secs_f64() / time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Looks every 100 ms at a task with these shares of running and waiting, in percent.
    fn looks(load: &mut Load, from: u32, run: u32, wait: u32, wants: bool) {
        for look in from..from + 6 {
            let stat = Stat {
                run: look * run * MS,
                wait: look * wait * MS,
                count: u64::from(look),
            };
            load.look(look * 100 * MS, stat, || wants);
        }
    }

    #[test]
    fn a_task_that_runs_or_waits_is_bound() {
        for (run, wait, bound) in [
            (100, 0, true),
            (25, 75, true),
            (40, 0, false),
            (5, 1, false),
        ] {
            let mut load = Load::default();
            looks(&mut load, 0, run, wait, true);
            assert_eq!(load.is_bound(), bound, "{run} {wait}");
        }
    }

    #[test]
    fn a_wait_that_is_not_over_counts() {
        let mut load = Load::default();
        let stat = Stat {
            run: 90 * MS,
            ..Stat::default()
        };
        load.look(Duration::ZERO, Stat::default(), || true);
        load.look(100 * MS, stat, || true);
        for look in 2..6 {
            load.look(look * 100 * MS, stat, || true);
        }
        assert!(load.is_bound());
        load.look(600 * MS, stat, || false);
        assert!(!load.is_bound(), "it sleeps now");
    }

    #[test]
    fn two_looks_in_short_succession_tell_nothing() {
        let mut load = Load::default();
        load.look(Duration::ZERO, Stat::default(), || true);
        let stat = Stat {
            run: 5 * MS,
            ..Stat::default()
        };
        load.look(5 * MS, stat, || true);
        assert!(!load.is_bound());
    }

    #[test]
    fn what_is_presumed_holds_until_looks_tell() {
        let mut load = Load::default();
        load.presume(true);
        load.look(Duration::ZERO, Stat::default(), || false);
        load.look(100 * MS, Stat::default(), || false);
        assert!(load.is_bound() && !load.is_told());
        load.look(300 * MS, Stat::default(), || false);
        assert!(load.is_told() && !load.is_bound(), "it has slept");
        load.presume(true);
        assert!(!load.is_bound(), "that is known better");
    }

    #[test]
    fn it_stays_bound_until_it_sleeps_half_of_the_time() {
        let mut load = Load::default();
        looks(&mut load, 0, 100, 0, true);
        looks(&mut load, 6, 70, 0, false);
        let mut half = Load::default();
        looks(&mut half, 0, 70, 0, true);
        assert!(!half.is_bound());
        half.bound = true;
        looks(&mut half, 6, 70, 0, true);
        assert!(half.is_bound());
    }
}
