//! Slices: each task tells the kernel's scheduler how long it wants to run at a time (Linux 6.12
//! and later).
//!
//! It needs no privilege, and leaves whose turn is next to the kernel. A slice is protected only up
//! to the smallest one that waits on the CPU, so all CPU-bound tasks get one, and sleepers cut them
//! still.

use std::collections::BTreeMap;
use std::time::Duration;

use terrace_policy::sched::{Curve, Ended, Progress, Task, Turns};

use super::attributes::SLICES_NS;
use super::counters::Reading;
use super::held::Changed;
use super::mechanism::{Mechanism, Steered};
use super::sample::Sample;

/// Tasks with slices.
pub(crate) struct Slices {
    policy: Box<dyn Turns>,
    tasks: BTreeMap<u32, Sliced>,
    /// Lengths of turns that were asked for, in seconds.
    asked: Sample,
    lately: (u32, Duration),
}

/// A task with its slice.
struct Sliced {
    steered: Steered,
    /// What it had used, and how often it had got a CPU, when the slice was set.
    at_first: (Reading, u64),
}

impl Slices {
    /// Begins without tasks.
    pub fn new(policy: Box<dyn Turns>) -> Self {
        Self {
            policy,
            tasks: BTreeMap::new(),
            asked: Sample::default(),
            lately: (0, Duration::ZERO),
        }
    }

    /// Gives a task the slice that the policy plans. Returns what became of it.
    fn plan(&mut self, tid: u32) -> Changed {
        let Some(sliced) = self.tasks.get_mut(&tid) else {
            return Changed::Gone;
        };
        let turn = self.policy.begin(sliced.steered.task()).turn;
        self.asked.add(turn.as_secs_f64());
        self.lately.0 += 1;
        self.lately.1 += turn;
        let nanos = u64::try_from(turn.as_nanos()).unwrap_or(u64::MAX);
        let count = sliced.steered.counters.stat().map_or(0, |stat| stat.count);
        sliced.at_first = (sliced.steered.counters.read(), count);
        let held = &sliced.steered.held;
        held.slice(nanos.clamp(SLICES_NS.0, SLICES_NS.1))
    }

    /// Tells the policy of the turns that a task has had since its slice was set, as if they were
    /// all alike, and sets the slice anew.
    fn renew(&mut self, tid: u32) -> Changed {
        let Some(sliced) = self.tasks.get_mut(&tid) else {
            return Changed::Gone;
        };
        let counters = &mut sliced.steered.counters;
        let Some(stat) = counters.stat().filter(|_| sliced.steered.held.is_there()) else {
            return Changed::Gone;
        };
        let (now, (first, counted)) = (counters.read(), sliced.at_first);
        let turns = stat.count.saturating_sub(counted);
        if turns == 0 {
            return Changed::Yes;
        }
        let misses = |reading: Reading| reading.counts.map(|counts| counts.misses);
        let missed = misses(now).zip(misses(first));
        let each = Progress {
            time: now.time.saturating_sub(first.time).div_f64(turns as f64),
            misses: missed.map(|(now, first)| now.saturating_sub(first) / turns),
        };
        self.policy.end(sliced.steered.task(), each, Ended::UsedUp);
        self.plan(tid)
    }

    fn leave(&mut self, tid: u32) {
        if let Some(sliced) = self.tasks.remove(&tid) {
            self.policy.forget(sliced.steered.task());
            // What cannot be put back now stays in the journal.
            let _ = sliced.steered.held.put_back();
        }
    }
}

impl Mechanism for Slices {
    fn admit(&mut self, steered: Steered) {
        let tid = steered.held.tid;
        let at_first = (Reading::default(), 0);
        self.tasks.insert(tid, Sliced { steered, at_first });
        self.plan(tid);
    }

    fn release(&mut self, tid: u32) {
        self.leave(tid);
    }

    fn tend(&mut self) -> Vec<u32> {
        let all: Vec<u32> = self.tasks.keys().copied().collect();
        let lost = all.into_iter();
        let lost: Vec<u32> = lost
            .filter(|&tid| self.renew(tid) != Changed::Yes)
            .collect();
        lost.iter().for_each(|&tid| self.leave(tid));
        lost
    }

    fn asked(&mut self) -> Option<Duration> {
        let (count, time) = std::mem::take(&mut self.lately);
        (count > 0).then(|| time / count)
    }

    fn asked_in_all(&self) -> Option<Duration> {
        self.asked.mean().map(Duration::from_secs_f64)
    }

    fn curve(&self, tid: u32) -> Option<Curve> {
        self.policy.curve(Task(tid)).cloned()
    }
}

impl Drop for Slices {
    fn drop(&mut self) {
        for sliced in self.tasks.values() {
            let _ = sliced.steered.held.put_back();
        }
    }
}
