//! A turn that is under way.

use std::time::Duration;

use terrace_policy::sched::{Next, Progress, Task, Turns};

use super::count::Samples;

/// A task's turn on a core.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The task.
    pub task: usize,
    /// Picoseconds that it has run.
    pub time: u64,
    /// Its misses.
    pub misses: u64,
    /// Picoseconds in the turn after which the policy is asked.
    look: u64,
    /// Misses by time.
    pub samples: Samples,
}

impl Turn {
    /// Begins a task's turn.
    pub fn begin(task: usize, policy: &mut dyn Turns) -> Self {
        let plan = policy.begin(number(task));
        Self {
            task,
            time: 0,
            misses: 0,
            look: picos(plan.look),
            samples: Samples::default(),
        }
    }

    /// Notes a part of the turn.
    pub fn note(&mut self, time: u64, misses: u64) {
        self.samples.note(self.time, misses);
        self.time += time;
        self.misses += misses;
    }

    /// Asks the policy, if it is time, whether the turn is over.
    pub fn is_over(&mut self, policy: &mut dyn Turns) -> bool {
        if self.time < self.look {
            return false;
        }
        match policy.progress(number(self.task), self.progress()) {
            Next::End => true,
            Next::Look(at) => {
                self.look = picos(at);
                false
            }
        }
    }

    /// Returns the time of the turn.
    pub fn length(&self) -> Duration {
        Duration::from_nanos(self.time / 1000)
    }

    /// Returns what the task has done in the turn.
    pub fn progress(&self) -> Progress {
        Progress {
            time: self.length(),
            misses: Some(self.misses),
        }
    }
}

/// Returns the number by which policies know a task.
pub fn number(task: usize) -> Task {
    Task(task as u32)
}

fn picos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX)
}
