//! `refill`: a turn lasts as long as it takes for the misses at its beginning to pay.
//!
//! A turn costs a switch and the misses that fill the cache again. Spread over the turn's time,
//! this is least where one more moment costs as much as the moments so far did on average: the
//! marginal-value theorem (Charnov 1976), by which an animal leaves a place where it feeds. With
//! the misses M(t) of a turn until time t, the turn ends where
//!
//! (M(t) x time of a miss + time of a switch) / t
//!
//! is least. M is learnt for each task while it runs ([`Curve`], Fedorov 2016, figure 3.3). Misses
//! that a task has all the time, whatever its turns, add the same to each t, and do not matter.
//!
//! Misses that only fall make the average fall for ever, slower and slower, while the other tasks
//! wait. So the shortest turn is taken whose average is within a fifth of a percentage point, by
//! default, of the least one that the bounds allow. Where the curve is not known yet it is taken to
//! go on as it was last, so that turns grow into it; one turn in 16 is twice as long, to see
//! whether the curve has changed there.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::{Curve, Ended, Entry, Machine, Make, Next, Plan, Progress, Task, Turns};
use crate::settings;
use crate::times::Times;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "refill",
    summary: "a turn lasts until the misses at its beginning cost little on average, learnt for each task",
    paper: "Terrace; the rule is Charnov 1976's (marginal value), on the curves of Fedorov 2016, figure 3.3",
    when: "Tasks whose data fit into the last-level cache alone and not together. Needs misses counted; \
           without them turns have a fixed length.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|machine, params| {
        let settings = Settings::take(params)?;
        Ok(Some(Box::new(Refill::new(*machine, settings))))
    }),
};

/// Bins of the curve begin with a part of the shortest turn.
const FIRST_BIN: u32 = 4;

settings! {
    /// Settings of `refill`.
    pub struct Settings {
        /// shortest turn
        least: Duration = Duration::from_millis(4), Times::micros(100..=10_000_000);
        /// longest turn
        most: Duration = Duration::from_millis(100).max(least), Times(least..=Duration::from_secs(10));
        /// share of time that a shorter turn may cost, against the best
        within: f64 = 0.002, 0.0..=1.0;
        /// length of a turn where misses are not counted, or not yet
        turn: Duration = Duration::from_millis(30).clamp(least, most), Times(least..=most);
        /// one turn in this many is twice as long, to keep the curve known
        explore: u32 = 16, 2..=u32::MAX;
    }
}

/// The `refill` policy.
struct Refill {
    machine: Machine,
    settings: Settings,
    tasks: FxHashMap<Task, Known>,
}

/// What is known of a task.
struct Known {
    curve: Curve,
    /// Progress at the last report of the present turn.
    last: Progress,
    /// Length of the present turn.
    turn: Duration,
    /// Turns so far.
    turns: u32,
}

impl Refill {
    fn new(machine: Machine, settings: Settings) -> Self {
        Self {
            machine,
            settings,
            tasks: FxHashMap::default(),
        }
    }

    /// Returns the time per time that switch and misses take in turns of a length.
    fn cost(&self, (turn, misses): (Duration, f64)) -> f64 {
        let Machine { miss, switch, .. } = self.machine;
        (misses * miss.as_secs_f64() + switch.as_secs_f64()) / turn.as_secs_f64()
    }

    /// Returns the shortest turn that costs little more than the best one.
    fn best(&self, curve: &Curve) -> Duration {
        let Settings {
            least,
            most,
            within,
            ..
        } = self.settings;
        if !curve.is_known() {
            return self.settings.turn;
        }
        let turns = || curve.totals().filter(|(turn, _)| *turn >= least);
        let costs = turns().map(|turn| self.cost(turn));
        let lowest = costs.fold(f64::INFINITY, f64::min);
        let good = turns().find(|turn| self.cost(*turn) <= lowest + within);
        good.map_or(most, |(turn, _)| turn)
    }

    /// Returns what is known of a task, whose turn has begun at the latest now.
    fn known(&mut self, task: Task) -> &mut Known {
        if !self.tasks.contains_key(&task) {
            self.begin(task);
        }
        self.tasks.get_mut(&task).expect("its turn has begun")
    }

    /// Learns what a task did since the last report.
    fn note(&mut self, task: Task, progress: Progress) -> &Known {
        let known = self.known(task);
        known.curve.note(known.last, progress);
        known.last = progress;
        known
    }
}

impl Turns for Refill {
    fn begin(&mut self, task: Task) -> Plan {
        let Settings {
            least,
            most,
            explore,
            turn,
            ..
        } = self.settings;
        let mut known = self.tasks.remove(&task).unwrap_or_else(|| Known {
            curve: Curve::new(least / FIRST_BIN, most),
            last: Progress::default(),
            turn,
            turns: 0,
        });
        let best = self.best(&known.curve);
        known.turns = known.turns.wrapping_add(1);
        known.turn = match known.turns % explore {
            0 => (2 * best).min(most),
            _ => best,
        };
        known.last = Progress {
            time: Duration::ZERO,
            misses: Some(0),
        };
        let plan = Plan {
            turn: known.turn,
            look: known.look(Duration::ZERO),
        };
        self.tasks.insert(task, known);
        plan
    }

    fn progress(&mut self, task: Task, progress: Progress) -> Next {
        let known = self.note(task, progress);
        match progress.time < known.turn {
            true => Next::Look(known.look(progress.time)),
            false => Next::End,
        }
    }

    fn end(&mut self, task: Task, progress: Progress, _: Ended) {
        self.note(task, progress);
    }

    fn forget(&mut self, task: Task) {
        self.tasks.remove(&task);
    }

    fn wants_misses(&self) -> bool {
        true
    }

    fn curve(&self, task: Task) -> Option<&Curve> {
        self.tasks.get(&task).map(|known| &known.curve)
    }
}

impl Known {
    /// Returns when to report next in the present turn: at the end of a bin, or of the turn.
    fn look(&self, time: Duration) -> Duration {
        let end = self.curve.next_end(time);
        end.map_or(self.turn, |end| end.min(self.turn))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spec;
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const TASK: Task = Task(3);

    fn refill(settings: &str) -> Box<dyn Turns> {
        let spec = Spec::parse(&format!("refill:{settings}")).unwrap();
        spec.policy(&Machine::default()).unwrap().unwrap()
    }

    /// Runs a turn whose misses until a time, in milliseconds, are given, and returns its length.
    fn turn(refill: &mut dyn Turns, misses: impl Fn(f64) -> f64) -> Duration {
        let mut look = refill.begin(TASK).look;
        loop {
            let progress = Progress {
                time: look,
                misses: Some(misses(look.as_secs_f64() * 1000.0) as u64),
            };
            match refill.progress(TASK, progress) {
                Next::Look(next) => look = next,
                Next::End => {
                    refill.end(TASK, progress, Ended::UsedUp);
                    return look;
                }
            }
        }
    }

    /// Returns the lengths, in milliseconds, of the first turns that are no explorations.
    fn turns(settings: &str, count: usize, misses: impl Fn(f64) -> f64) -> Vec<u128> {
        let mut refill = refill(settings);
        let mut lengths = (1..=count).map(|at| (at, turn(&mut *refill, &misses).as_millis()));
        let mut usual = Vec::new();
        lengths.by_ref().for_each(|(at, length)| {
            if at % 16 != 0 {
                usual.push(length);
            }
        });
        usual
    }

    /// 20,000 misses of 100 ns within the first 4 ms: 2 ms a turn. Turns of 100 ms cost 2 %, so
    /// that those of 64 ms, 3.1 %, are within 1.2 %, and those of 48 ms, 4.2 %, are not.
    #[test]
    fn a_turn_ends_where_misses_are_paid_for() {
        let misses = |ms: f64| 5_000.0 * ms.min(4.0);
        let lengths = turns("within=0.012", 40, misses);
        assert_eq!(lengths[0], 30, "nothing is known yet");
        assert!(
            lengths[1..].iter().all(|length| *length == 64),
            "{lengths:?}"
        );
        let lengths = turns("within=0.11", 40, misses);
        assert_eq!(lengths.last(), Some(&16));
    }

    /// Charnov's rule: with misses that become more from 16 ms on, the average is least there.
    #[test]
    fn a_turn_ends_before_misses_grow_again() {
        let misses = |ms: f64| 2_000.0 * ms.min(2.0) + 3_000.0 * (ms - 16.0).max(0.0);
        let lengths = turns("within=0", 40, misses);
        assert!(
            lengths[2..].iter().all(|length| *length == 16),
            "{lengths:?}"
        );
    }

    #[test]
    fn a_task_without_a_refill_has_short_turns() {
        // A switch alone, 3 us, is within 0.2 % for the shortest turn.
        for rate in [0.0, 10.0, 8_000.0] {
            let lengths = turns("", 10, |ms| rate * ms);
            assert!(
                lengths[1..].iter().all(|length| *length == 4),
                "{lengths:?}"
            );
        }
    }

    #[test]
    fn one_turn_in_16_is_twice_as_long() {
        let mut refill = refill("");
        let lengths: Vec<u128> = (0..33)
            .map(|_| turn(&mut *refill, |_| 0.0).as_millis())
            .collect();
        assert_eq!(lengths[14..17], [4, 8, 4]);
        assert_eq!(lengths[30..33], [4, 8, 4]);
    }

    /// A program that did not refill, and now does.
    #[test]
    fn a_new_phase_gets_longer_turns() {
        let mut refill = refill("");
        for _ in 0..20 {
            turn(&mut *refill, |ms| 500.0 * ms);
        }
        let refills = |ms: f64| 8_000.0 * ms.min(5.0);
        let after = (0..64).map(|_| turn(&mut *refill, refills));
        assert!(after.last().unwrap() >= 64 * MS);
    }

    #[test]
    fn without_misses_a_turn_has_a_fixed_length() {
        let mut refill = refill("turn=25ms");
        for _ in 0..3 {
            assert_eq!(refill.begin(TASK).turn, 25 * MS);
            let at = |time| Progress { time, misses: None };
            assert!(matches!(refill.progress(TASK, at(24 * MS)), Next::Look(_)));
            assert_eq!(refill.progress(TASK, at(25 * MS)), Next::End);
        }
    }
}
