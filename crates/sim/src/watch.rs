//! What a simulation reports while it runs.

use std::path::Path;

use terrace_base::{Bytes, Nanos};
use terrace_trace::lost::Loss;
use terrace_trace::spooled::Spooled;

/// Receives the events of a simulation, from any of its threads.
pub type Watch<'a> = &'a (dyn Fn(Event) + Sync);

/// An event of a simulation.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A trace that comes through a pipe was kept, to be read more than once.
    Spooled {
        /// Its name.
        trace: &'a Path,
        /// Its file.
        kept: &'a Spooled,
    },
    /// A part of the work begins.
    Begins(Part),
    /// So much of the part is done: accesses, nanoseconds of simulated time, or bytes.
    Done(u64),
    /// A trace file that was written does not say all, because its format has no room for it.
    Lost {
        /// The file.
        file: &'a Path,
        /// What it does not say.
        lost: &'a [Loss],
    },
}

/// A part of the work of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What is done, as `simulating`.
    pub name: &'static str,
    /// How much of it there is.
    pub amount: Amount,
}

/// An amount of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Accesses; `None` where the traces do not say how many there are.
    Accesses(Option<u64>),
    /// Simulated time.
    Time(Nanos),
    /// Bytes of a file.
    Bytes(Bytes),
}

impl Event<'_> {
    /// Returns the event that a part with so many accesses begins.
    pub(crate) fn begins(name: &'static str, accesses: Option<u64>) -> Self {
        Self::Begins(Part {
            name,
            amount: Amount::Accesses(accesses),
        })
    }
}
