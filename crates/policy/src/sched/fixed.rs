//! `static`: all turns have the same length.
//!
//! Fedorov 2016, sections 3.3 and 3.4: timeslice aggregation, with turns of 15, 30, 45 and 70 ms in
//! figure 3.5. The gain is nearly all there from 30 to 45 ms on, at 16 MB.

use std::time::Duration;

use super::{Ended, Entry, Make, Next, Plan, Progress, Task, Turns};
use crate::settings;
use crate::times::Times;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "static",
    summary: "turns of one length for all tasks",
    paper: "Fedorov 2016, sections 3.3 and 3.4, figure 3.5",
    when: "Mixes whose tasks are much alike, and machines that do not count misses.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|_, params| Ok(Some(Box::new(Static::new(Settings::take(params)?.turn))))),
};

settings! {
    /// Settings of `static`.
    pub struct Settings {
        /// length of a turn
        turn: Duration = Duration::from_millis(30), Times::micros(100..=10_000_000);
    }
}

/// The `static` policy.
pub struct Static {
    turn: Duration,
}

impl Static {
    /// Makes the policy; a simulation makes the scheduler's own turns with it.
    pub fn new(turn: Duration) -> Self {
        Self { turn }
    }
}

impl Turns for Static {
    fn begin(&mut self, _: Task) -> Plan {
        let turn = self.turn;
        Plan { turn, look: turn }
    }

    fn progress(&mut self, _: Task, progress: Progress) -> Next {
        match progress.time < self.turn {
            true => Next::Look(self.turn),
            false => Next::End,
        }
    }

    fn end(&mut self, _: Task, _: Progress, _: Ended) {}

    fn forget(&mut self, _: Task) {}
}

#[cfg(test)]
mod tests {
    use super::super::{Machine, Spec};
    use super::*;

    #[test]
    fn a_turn_has_the_given_length() {
        let spec = Spec::parse("static:turn=15ms").unwrap();
        let mut turns = spec.policy(&Machine::default()).unwrap().unwrap();
        let ms = Duration::from_millis;
        let (turn, look) = (ms(15), ms(15));
        assert_eq!(turns.begin(Task(1)), Plan { turn, look });
        let at = |time| Progress { time, misses: None };
        assert_eq!(turns.progress(Task(1), at(ms(14))), Next::Look(ms(15)));
        assert_eq!(turns.progress(Task(1), at(ms(15))), Next::End);
        let error = Spec::parse("static:turn=1us").unwrap_err();
        assert!(error.contains("100us to 10s"), "{error}");
    }
}
