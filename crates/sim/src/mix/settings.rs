//! Settings of a simulated machine on which tasks take turns.

use std::time::Duration;

use terrace_base::{Error, Nanos, Result};
use terrace_policy::sched::{self, fixed::Static};

use super::partition::Partition;
use crate::llc::lines::Lines;
use crate::llc::{Backing, Llc, Placement, Size};

/// A machine.
#[derive(Clone, Debug)]
pub struct MixMachine {
    /// Bytes per line, in all levels.
    pub line: u64,
    /// Private levels of each core, first and second; `None` for a level that is absent.
    pub private: [Option<Size>; 2],
    /// Whether private levels are emptied at a switch.
    pub empties: bool,
    /// The last-level cache.
    pub llc: Llc,
    /// Its division between tasks.
    pub partition: Partition,
    /// Memory behind it.
    pub memory: Backing,
    /// Placement of pages in frames.
    pub placement: Placement,
    /// Cores.
    pub cores: usize,
    /// Policy of turns.
    pub turns: sched::Spec,
    /// Turns where the policy changes nothing: the scheduler's own.
    pub slice: Nanos,
    /// Time of a switch, without misses.
    pub switch: Nanos,
    /// Time before figures are taken.
    pub warmup: Nanos,
    /// Time that is measured, after the warm-up.
    pub time: Nanos,
    /// Seed of random choices.
    pub seed: u64,
}

impl MixMachine {
    /// Returns the policy of turns.
    ///
    /// # Errors
    /// A usage error where a setting has a wrong value.
    pub(super) fn policy(&self) -> Result<Box<dyn sched::Turns>> {
        let policy = self.turns.policy(&self.known()?).map_err(Error::usage)?;
        let own = || Box::new(Static::new(Duration::from_nanos(self.slice.0))) as Box<_>;
        Ok(policy.unwrap_or_else(own))
    }

    /// Returns what policies know of the machine. A miss takes as long as a read of memory: how
    /// much of it is hidden behind other work is not known.
    fn known(&self) -> Result<sched::Machine> {
        let miss = self.memory.memory.technology.line_read.as_ref();
        Ok(sched::Machine {
            lines: self.llc.size.geometry(self.line)?.lines() as u64,
            miss: Duration::from_nanos(miss.map_or(0, |figure| figure.value.0)),
            switch: Duration::from_nanos(self.switch.0),
        })
    }

    /// Checks that all parts can be made for so many tasks.
    ///
    /// # Errors
    /// A usage error that names what cannot be made.
    pub fn check(&self, tasks: usize) -> Result<()> {
        self.lines()?;
        for size in self.private.into_iter().flatten() {
            size.geometry(self.line)?;
        }
        for size in self.partition.caches(self.llc.size, tasks)? {
            let geometry = size.geometry(self.line)?;
            let policy = self.llc.policy.policy(geometry, self.seed);
            policy.map(drop).map_err(Error::usage)?;
        }
        self.memory.memory_side(self.line, self.cores)?;
        self.policy().map(drop)
    }

    /// Returns the division of addresses into lines.
    ///
    /// # Errors
    /// A usage error where the line size is not valid.
    pub(super) fn lines(&self) -> Result<Lines> {
        Lines::new(self.line)
    }
}
