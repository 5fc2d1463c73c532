//! Turns on the running machine: the policies of `terrace_policy::sched` on an unpatched kernel.
//!
//! `Population` finds the tasks of the programs, and says which are CPU-bound (`load`); tasks that
//! sleep are left alone. `births` tells of new tasks at once. `switches` sees what runs when, by
//! perf, whether turns are steered or not, and `counters` what it costs. A mechanism makes the
//! turns that a policy asks for: `rotation` passes the CPU on by scheduling policies, `slices` asks
//! the kernel for longer slices; `choice` takes the one whose turns come out. What is changed of a
//! task (`held`) is in the journal before, and put back on every way out;
//! [`crate::journal::watch`] does it where this process cannot.

mod attributes;
mod births;
pub mod cache;
mod choice;
pub mod compare;
pub mod counters;
mod figures;
pub(crate) mod held;
mod load;
pub mod machine;
mod mechanism;
pub mod mix;
mod population;
pub mod profile;
mod programs;
mod rotation;
pub mod run;
mod sample;
mod slices;
mod steering;
mod switches;
mod turns;
mod watched;

pub use choice::{Wanted, Way};
pub use figures::{Latency, Outcome, ProgramFigures, Share, TurnFigures};
pub use steering::ways;
pub use turns::Spell;
