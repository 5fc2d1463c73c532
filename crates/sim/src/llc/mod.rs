//! Simulation of last-level caches: which policy misses and writes back how much, and what that
//! costs with a slow memory behind.
//!
//! Private levels of each core (`private`) filter the accesses of the traces; what they ask goes
//! to any number of last-level caches (`shared`), each with memories behind it (`behind`), in one
//! pass ([`run`]).
//!
//! The rules, which are those of Fedorov 2016, chapter 2, as far as it gives them:
//!
//! - All levels are write-back and write-allocate, and neither inclusive nor exclusive.
//! - The private levels are LRU. A line that misses is looked up in the next level, and comes into
//!   all private levels; a dirty line that has to go is written to the next level and allocates
//!   there, a clean one is dropped. What is asked for comes before what it displaces.
//! - A store that misses reads the line from below, where it stays clean; it is dirty above.
//! - A write-back is a use: it moves the line to the front of an LRU order, in every level.
//! - An access to two lines touches both, one after the other.
//! - Instructions are not fetched: traces hold loads and stores.
//! - A line that a program flushes is written to memory if it is dirty in any level, and leaves all
//!   levels or stays there clean (`flush`).
//! - Addresses are virtual unless pages are given frames (`placement`, `frames`), and processes share
//!   nothing (`lines`). Cores do not take lines from
//!   each other: where threads on two cores use a line, each keeps a copy, and both write it back
//!   when they have written to it.
//! - Banks of the last level are not told apart, as lines are spread over them by their sets.

mod batch;
mod behind;
mod core;
mod flush;
mod frames;
mod front;
mod level;
mod lines;
mod memory;
mod mix;
mod origin;
mod outcome;
mod pass;
mod placement;
mod private;
mod program;
mod requests;
mod settings;
mod shared;

/// The figures of the models of core and memory; each is explained where it is.
pub mod model {
    pub use super::behind::DRAM_CACHE_WAYS;
    pub use super::core::{CYCLE, ISSUE, LOOKUP, OUTSTANDING, WINDOW};
    pub use super::memory::{BANDWIDTH, BANKS, ROW_BYTES};
    pub use super::program::INSTRUCTIONS_AN_ACCESS;
}

pub use behind::{Backing, Found};
pub use flush::Flushes;
pub use frames::Faults;
pub use memory::{Chips, Transfers};
pub use mix::Mix;
pub use origin::{CORES, MARK};
pub use outcome::{Outcome, Pass};
pub use pass::{Sinks, run};
pub use placement::Placement;
pub use private::LevelCounts;
pub use program::Open;
pub use settings::{Llc, Settings, Size, Warmup};
pub use shared::Point;
pub use terrace_policy::llc::{Counts, Ends};
