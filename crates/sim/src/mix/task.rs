//! A task: a trace that takes turns on a core.

use super::count::Counts;
use crate::llc::program::Program;

/// A task of the simulation.
pub struct Task<'a> {
    /// Its trace.
    pub program: Program<'a>,
    /// Counts after the warm-up.
    pub counts: Counts,
    /// Lines of the task in the last level.
    pub held: u64,
    /// How things were when its last turn ended; `None` before that.
    pub left: Option<Left>,
}

/// How things were when a task's turn ended.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// Lines of the task in the last level.
    pub held: u64,
    /// Lines that had come into the last level.
    pub filled: u64,
    /// Time of the core.
    pub at: u64,
}

impl<'a> Task<'a> {
    /// Makes a task that has not run yet.
    pub fn new(program: Program<'a>) -> Self {
        Self {
            program,
            counts: Counts::default(),
            held: 0,
            left: None,
        }
    }

    /// Notes what has happened in the last level, of so many lines, while the task was away.
    pub fn come_back(&mut self, now: u64, filled: u64, lines: u64) {
        let Some(left) = self.left else {
            return;
        };
        let counts = &mut self.counts;
        counts.away += 1;
        counts.replaced += (filled - left.filled) as f64 / lines as f64;
        if left.held > 0 {
            counts.lost += left.held.saturating_sub(self.held) as f64 / left.held as f64;
        }
        counts.longest_wait = counts.longest_wait.max(now - left.at);
    }
}
