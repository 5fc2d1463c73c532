//! Simulation of last-level caches: how often each policy misses and writes back, and what that
//! costs with a slow memory.
//!
//! The core side (`core_side`) filters the accesses of the traces by the private levels of each
//! core (`private`). Their requests go to any number of last-level caches (`shared`), each with one
//! or more memory sides (`memory_side`), in one pass ([`run`]).
//!
//! The rules follow Fedorov 2016, chapter 2, as far as it gives them:
//!
//! - All levels are write-back and write-allocate, and neither inclusive nor exclusive unless the
//!   last level is to be so. A line that an inclusive one evicts leaves all private levels, and is
//!   written to memory if it is dirty in any. There the write-backs of a touch precede its other
//!   requests, so that each finds its line; only where an access touches several lines the last
//!   level may have evicted it for one of them, and it comes back.
//! - An exclusive last level is a victim cache of the private levels: a line that misses comes into
//!   these alone, a hit takes it out of the last level, and a line that leaves the second level,
//!   clean or dirty, comes into the last one ([`terrace_policy::llc::Above`]). The second level
//!   includes the first there: a line leaves both at once, and what the first evicts dirty is
//!   written to the second before that is asked for the other. So each line is in private levels or
//!   in the last. The requests are the same for all exclusive caches, whatever these keep.
//! - The private levels are LRU. A line that misses is looked up in the next level, and is put into
//!   all private levels; a dirty victim is written to the next level and allocates there, a clean
//!   victim is dropped. The request for a line precedes the write-back of its victim.
//! - A store that misses reads the line from below, where it stays clean; it is dirty above.
//! - A write-back is a use: it moves the line to the front of an LRU order, in every level.
//! - An access to two lines touches both, one after the other.
//! - The second private level can read lines ahead (`ahead`): those behind what the first level
//!   asks it for that it does not have. They are requests to the last level and go into both; the
//!   core waits for none, but for one that is on its way when it is used first.
//! - Instructions are not fetched: traces hold loads and stores.
//! - The last level writes a dirty line to memory when it evicts it, and before that if it is to
//!   (`early`): in idle cycles of the memory, with another line of its row, or if it gets no more
//!   writes as far as is predicted.
//! - A flushed line is written to memory if it is dirty in any level, and leaves all levels or
//!   stays there clean (`flush`).
//! - Addresses are virtual unless pages are given frames (`placement`, `frames`), and processes
//!   share nothing (`lines`). Cores do not take lines from each other: where threads on two cores
//!   use a line, each keeps a copy, and each that has written to it writes it back.
//! - Where there are several cores and a memory, requests are made in the order of time
//!   (`core_side`), and a thread waits for those for which it waited when it was recorded (`steps`,
//!   `mix`).
//! - The banks of the last level are not modelled.

mod ahead;
pub(crate) mod batch;
mod bus;
pub(crate) mod core;
mod core_side;
mod dependence;
mod early;
mod flush;
pub(crate) mod frames;
mod front;
pub(crate) mod grid;
mod level;
pub(crate) mod lines;
pub(crate) mod maker;
mod memory;
pub(crate) mod memory_side;
mod mix;
pub mod options;
mod order;
pub(crate) mod origin;
mod outcome;
mod outputs;
mod pass;
pub mod placement;
pub(crate) mod private;
pub(crate) mod program;
pub(crate) mod requests;
pub mod results;
pub(crate) mod settings;
pub(crate) mod shared;
mod simulated;
mod steps;

/// Constants of the models of core and memory, each explained where it is defined.
pub mod model {
    pub use super::core::{CYCLE, ISSUE, LOOKUP, NEAR, OUTSTANDING, WINDOW};
    pub use super::memory::{BANDWIDTH, BANKS, ROW_BYTES};
    pub use super::memory_side::DRAM_CACHE_WAYS;
    pub use super::program::INSTRUCTIONS_AN_ACCESS;
}

pub use ahead::PrefetchCounts;
pub use early::EarlyWrites;
pub use flush::Flushes;
pub use frames::Faults;
pub use front::{BesideProgram, LlcSimulation};
pub use grid::{Extent, Grid, LLC_PER_CORE, WarmupChoice};
pub use memory::{Chips, Transfers};
pub use memory_side::{Backing, Found};
pub use mix::Mix;
pub use origin::MARK;
pub use outcome::{Outcome, Pass, Point};
pub use outputs::{Outputs, Unkept, simulate};
pub use pass::{Sinks, run};
pub use placement::Placement;
pub use private::LevelCounts;
pub use program::Open;
pub use settings::{Inclusion, Llc, LlcMachine, Prefetching, Size, Warmup, WriteBack};
pub use simulated::{Behind, Epoch, Run, Simulated};
pub use terrace_policy::llc::{Counts, Ends};
