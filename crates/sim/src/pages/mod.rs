//! Simulation of a machine with DRAM and a slower tier at the level of pages.
//!
//! Threads run on virtual clocks, touch pages, fault, and wait; devices serve queues. A simulation
//! is a state machine: it is fed with batches of touches and runs until it needs more
//! ([`Simulation::run`]), so that one pass over the traces simulates several machines ([`run`]).

mod bandwidth;
mod buffer;
mod choice;
mod control;
mod cost;
mod count;
mod counting;
mod dram;
mod front;
mod grid;
mod idle;
pub mod levelling;
mod line_wear;
mod lines;
mod machine;
mod middle;
pub mod names;
pub mod options;
mod outcome;
mod placement;
mod places;
pub mod results;
mod run;
pub mod setting;
mod settings;
mod simulation;
mod staging;
mod store;
mod survey;
mod threads;
mod tier;
mod timeline;
mod values;
mod writes;

pub use choice::Choice;
pub use control::{Controlled, Look};
pub use cost::{FaultCost, Shootdown};
pub use count::{Counts, Latencies, Times};
pub use dram::Dram;
pub use front::{Beside, PageSimulation, Watched, columns};
pub use grid::{Grid, require_memory};
pub use machine::{Machine, Measured};
pub use outcome::{Drawn, Energy, Lifetime, Outcome, ProgramTime};
pub use placement::Placement;
pub use results::Simulated;
pub use run::{run, watch};
pub use settings::{
    Around, Fill, Inclusion, Initial, Mapped, PageMachine, Prefetch, Slower, ThreadOrder, Work,
    ZeroPages,
};
pub use simulation::Simulation;
pub use survey::{Foresight, Survey};
pub use tier::{Middle, Tier};
pub use timeline::Point;
pub use writes::{Rank, SchemeOutcome, Unwritten, Writing};
