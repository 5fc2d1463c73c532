//! `fill`: a turn ends when the task has filled a preset share of the last-level cache.
//!
//! Fedorov 2016, section 3.5.4. The kernel counts the misses of each timeslice (MPTS), and gives a
//! thread as many timeslices as fill the share. Here the misses of the turn itself are counted: the
//! next report is due when they would reach the share at the rate so far. The paper leaves open the
//! share, and the bounds, which a task needs that misses nearly never, or all the time.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::{Ended, Entry, Machine, Make, Next, Plan, Progress, Task, Turns};
use crate::settings;
use crate::times::Times;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "fill",
    summary: "a turn lasts until the task has filled a share of the last-level cache",
    paper: "Fedorov 2016, section 3.5.4",
    when: "Tasks that differ much in their misses: one that streams through memory gets short turns.",
    evidence: crate::registry::Evidence {
        open: "The share, and bounds for tasks that miss never or always: settings.",
        compared: "",
    },
    make: Make(&|machine, params| {
        let settings = Settings::take(params)?;
        Ok(Some(Box::new(Fill::new(machine, settings))))
    }),
};

/// Shortest time between two reports. The rate falls while the cache is filled, so that the share
/// is expected too early, again and again.
const STEP: Duration = Duration::from_micros(250);

settings! {
    /// Settings of `fill`.
    pub struct Settings {
        /// share of the cache that a task fills in a turn
        share: f64 = 0.5, 0.001..=100.0;
        /// shortest turn
        least: Duration = Duration::from_millis(4), Times::micros(100..=10_000_000);
        /// longest turn
        most: Duration = Duration::from_millis(100).max(least), Times(least..=Duration::from_secs(10));
        /// length of a turn where misses are not counted
        turn: Duration = Duration::from_millis(30).clamp(least, most), Times(least..=most);
    }
}

/// The `fill` policy.
struct Fill {
    settings: Settings,
    /// Misses that fill the share.
    enough: u64,
    /// The length of each task's turns, as expected.
    usual: FxHashMap<Task, Duration>,
}

impl Fill {
    fn new(machine: &Machine, settings: Settings) -> Self {
        let enough = (settings.share * machine.lines as f64).ceil() as u64;
        Self {
            settings,
            enough: enough.max(1),
            usual: FxHashMap::default(),
        }
    }

    /// Returns the time at which the misses will be enough at the rate so far, within the bounds.
    fn expected(&self, progress: Progress) -> Duration {
        let Settings {
            least, most, turn, ..
        } = self.settings;
        let Some(misses) = progress.misses else {
            return turn;
        };
        if misses >= self.enough {
            return progress.time.clamp(least, most);
        }
        let share = self.enough as f64 / misses as f64;
        let time = Duration::try_from_secs_f64(progress.time.as_secs_f64() * share);
        time.map_or(most, |time| time.clamp(least, most))
    }
}

impl Turns for Fill {
    fn begin(&mut self, task: Task) -> Plan {
        let usual = self.usual.get(&task).copied();
        Plan {
            turn: usual.unwrap_or(self.settings.turn),
            look: self.settings.least,
        }
    }

    fn progress(&mut self, _: Task, progress: Progress) -> Next {
        let expected = self.expected(progress);
        match progress.time < expected {
            true => Next::Look(expected.max(progress.time + STEP).min(self.settings.most)),
            false => Next::End,
        }
    }

    fn end(&mut self, task: Task, progress: Progress, _: Ended) {
        if progress.time > Duration::ZERO {
            self.usual.insert(task, self.expected(progress));
        }
    }

    fn forget(&mut self, task: Task) {
        self.usual.remove(&task);
    }

    fn wants_misses(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spec;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A cache of 1000 lines, of which a task fills half.
    fn fill() -> Box<dyn Turns> {
        let machine = Machine {
            lines: 1000,
            ..Machine::default()
        };
        let spec = Spec::parse("fill:share=0.5,least=2ms,most=50ms").unwrap();
        spec.policy(&machine).unwrap().unwrap()
    }

    fn after(ms: u32, misses: u64) -> Progress {
        Progress {
            time: ms * MS,
            misses: Some(misses),
        }
    }

    #[test]
    fn a_turn_ends_with_the_share_filled() {
        let mut fill = fill();
        let task = Task(7);
        assert_eq!(fill.begin(task).look, 2 * MS);
        assert_eq!(fill.progress(task, after(2, 100)), Next::Look(10 * MS));
        assert_eq!(fill.progress(task, after(10, 250)), Next::Look(20 * MS));
        assert_eq!(fill.progress(task, after(20, 500)), Next::End);
        fill.end(task, after(20, 500), Ended::UsedUp);
        assert_eq!(fill.begin(task).turn, 20 * MS);
        fill.forget(task);
        assert_eq!(fill.begin(task).turn, 30 * MS);
    }

    #[test]
    fn bounds_hold_for_a_task_that_misses_always_or_never() {
        let mut fill = fill();
        let task = Task(7);
        assert_eq!(fill.progress(task, after(1, 9999)), Next::Look(2 * MS));
        assert_eq!(fill.progress(task, after(2, 9999)), Next::End);
        assert_eq!(fill.progress(task, after(2, 0)), Next::Look(50 * MS));
        assert_eq!(fill.progress(task, after(50, 0)), Next::End);
    }

    #[test]
    fn without_misses_a_turn_has_a_fixed_length() {
        let mut fill = fill();
        let at = |ms| Progress {
            time: ms * MS,
            misses: None,
        };
        assert_eq!(fill.progress(Task(7), at(2)), Next::Look(30 * MS));
        assert_eq!(fill.progress(Task(7), at(30)), Next::End);
    }
}
