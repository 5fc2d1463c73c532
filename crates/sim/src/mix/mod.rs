//! Simulation of tasks that take turns on cores with a shared last-level cache: Fedorov 2016,
//! chapter 3.
//!
//! Each task is a trace of its own. It waits for its turn on one of the cores; whose turn is next
//! is decided by [`terrace_policy::sched::Fair`], and how long it is by a turn policy, as on a live
//! machine. The core whose *time* is behind goes on (`simulation`), so that a core with many misses
//! executes less, as it would. Levels, core and memory are those of [`crate::llc`].
//!
//! - A task's threads take turns as the trace has them, as one thread. Tasks share no memory, and
//!   do not sleep.
//! - A task that reaches the end of its trace begins it again.
//! - The private levels belong to the core. They are kept at a switch, and the next task's lines
//!   replace those that are there; or they are emptied, and their dirty lines written to the last
//!   level.
//! - A switch to another task takes a time by itself, in which the core does nothing else.
//! - A partition of the last level by ways is a cache of these ways for each task. The best case of
//!   Fedorov 2016, 3.5.2, is a cache of the whole size for each.
//! - Pages are put into frames of random order, as after a machine has run for some time; with
//!   virtual addresses tasks would have their lines in the same sets.

mod count;
mod front;
mod grid;
pub mod options;
mod outcome;
mod partition;
pub mod results;
mod run;
mod settings;
mod simulation;
mod task;
mod turn;

pub use count::Counts;
pub use front::MixSimulation;
pub use grid::Grid;
pub use outcome::{Outcome, Run, Simulated, TaskOutcome};
pub use partition::Partition;
pub use run::{Trace, files, run};
pub use settings::MixMachine;
