//! Turns: for how long a task keeps a core before the next task of that core runs.
//!
//! Tasks that take turns on a core throw each other's lines out of the last-level cache, and each
//! begins its turn with misses that fill the cache again. A longer turn spreads these misses over
//! more time, and makes the other tasks wait for longer. Fedorov 2016, chapter 3
//! ("Variable-Timeslice Thread Scheduling").
//!
//! A [`Turns`] policy has no clock and switches nothing. A driver reports to it:
//!
//! 1. [`Turns::begin`]: a task's turn begins. The answer is a [`Plan`]: the expected length of the
//!    turn, and the time after which the driver should report.
//! 2. [`Turns::progress`]: the time that the task has run in this turn, and its misses. The answer
//!    is [`Next`]: report again later, or end the turn. A turn without a report goes on.
//! 3. [`Turns::end`]: the turn has ended, and why.
//!
//! Time is the task's own time on the core: what others take meanwhile does not count. A driver
//! with a mechanism that must be told beforehand, as a slice of the kernel's scheduler, sets
//! [`Plan::turn`] and reports how the turn ended.
//!
//! # Fairness
//!
//! A policy says how long a turn is and not whose turn comes next. That is [`Fair`]'s part: the
//! task that has received the least time of its core, by its weight, is next, as in the kernel's
//! scheduler (3.5.3, 3.5.4). A task with long turns then has fewer of them, and the times that two
//! tasks have received differ by no more than the longest turn, whichever policy is in force. A
//! driver that leaves that choice to the kernel keeps the contract likewise, since the kernel
//! accounts for a long turn as for several short ones.
//!
//! To add a policy: copy [`fixed`], and name it in [`REGISTRY`].

mod curve;
mod fair;
pub mod fill;
pub mod fixed;
mod make;
pub mod off;
pub mod refill;
mod registry;

use std::time::Duration;

pub use curve::Curve;
pub use fair::Fair;
pub use make::{Entry, Machine, Made, Make, Spec};
pub use registry::REGISTRY;

/// A task that takes turns: a thread of a program. A driver may reuse numbers after
/// [`Turns::forget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task(pub u32);

/// What a task has done in its present turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Time that it has run.
    pub time: Duration,
    /// Its misses of the last-level cache; `None` where they are not counted.
    pub misses: Option<u64>,
}

/// The answer to the beginning of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The length of the turn, as expected.
    pub turn: Duration,
    /// Time in this turn after which the driver should report, at most [`Plan::turn`].
    pub look: Duration,
}

/// The answer to a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The turn goes on; report again when the task has run for this time in its turn.
    Look(Duration),
    /// The turn ends.
    End,
}

/// Why a turn has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The policy ended it, or its planned time is over.
    UsedUp,
    /// The task sleeps, or has ended.
    Slept,
    /// Another task was given the core before.
    Cut,
}

/// Decides how long turns are.
///
/// Calls in any order are allowed, about any task: a report without a beginning begins a turn, and
/// time or misses that go back count as none.
pub trait Turns: Send {
    /// Handles the beginning of a task's turn.
    fn begin(&mut self, task: Task) -> Plan;

    /// Handles the progress of a turn.
    fn progress(&mut self, task: Task, progress: Progress) -> Next;

    /// Handles the end of a turn, with all that the task did in it.
    fn end(&mut self, task: Task, progress: Progress, why: Ended);

    /// Forgets a task that has ended.
    fn forget(&mut self, task: Task);

    /// Whether the policy makes use of misses. A driver need not count them otherwise.
    fn wants_misses(&self) -> bool {
        false
    }

    /// Returns the misses per time after the beginning of a turn that the policy has learnt of a
    /// task, for results (figure 3.3).
    fn curve(&self, _: Task) -> Option<&Curve> {
        None
    }
}
