//! How turns are made: what all ways to make them have in common.

use std::time::Duration;

use terrace_policy::sched::{Curve, Task};

use super::counters::Counters;
use super::held::Held;

/// A task whose turns are steered.
pub(crate) struct Steered {
    /// The task, with what it was found with.
    pub held: Held,
    /// What it uses.
    pub counters: Counters,
}

impl Steered {
    /// Returns its name for policies.
    pub fn task(&self) -> Task {
        Task(self.held.tid)
    }

    /// Returns its share of time, as the kernel weights nice values (`sched_prio_to_weight`): 10 %
    /// a step, which is a factor of 1.25.
    pub fn weight(&self) -> u32 {
        let nice = self.held.found.nice.clamp(-20, 19);
        (1024.0 / 1.25_f64.powi(nice)).round() as u32
    }
}

/// A way to make turns. Its tasks are put back when it is dropped.
pub(crate) trait Mechanism: Send {
    /// Begins to steer a task, which is in the journal already.
    fn admit(&mut self, task: Steered);

    /// Leaves a task alone again, with what was found.
    fn release(&mut self, tid: u32);

    /// Does what is due from time to time, and returns the tasks that are steered no more: they
    /// have ended, or chose a policy by themselves.
    fn tend(&mut self) -> Vec<u32>;

    /// Returns the mean length of the turns that were asked for since the last call; `None` if none
    /// were.
    fn asked(&mut self) -> Option<Duration>;

    /// Returns the mean length of the turns that were asked for in all.
    fn asked_in_all(&self) -> Option<Duration>;

    /// Returns what the policy has learnt of a task's misses after the beginning of a turn; `None`
    /// of policies that learn nothing.
    fn curve(&self, tid: u32) -> Option<Curve>;
}

#[cfg(test)]
mod tests {
    use super::super::attributes::Attributes;
    use super::*;

    #[test]
    fn weights_are_the_kernels_within_rounding() {
        let mut steered = Steered {
            held: Held {
                pid: 1,
                tid: 1,
                started: 0,
                found: Attributes::of(0).unwrap(),
            },
            counters: Counters::of(u32::MAX >> 1, u32::MAX >> 1),
        };
        // From the kernel's table (kernel/sched/core.c).
        for (nice, weight) in [(0, 1024_i32), (-5, 3121), (5, 335), (10, 110)] {
            steered.held.found.nice = nice;
            let ours = steered.weight() as i32;
            assert!((ours - weight).abs() * 10 <= weight, "{nice}: {ours}");
        }
    }
}
