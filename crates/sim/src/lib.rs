//! The virtual-time driver: predicts what a memory and a policy would do to a program.
//!
//! Pages of a small trace on one machine, with DRAM for a quarter of them and the predictor
//! `stream`:
//!
//! ```
//! use terrace_base::Bytes;
//! use terrace_device::Catalogue;
//! use terrace_sim::pages::{Grid, run};
//! use terrace_sim::workload::Workload;
//! use terrace_trace::generate::{KernelSettings, Sequential};
//!
//! let settings = KernelSettings { accesses: 100_000, footprint: Bytes(512 << 10), seed: 1 };
//! let trace = Sequential { writes: 30 }.source(&settings)?;
//! let grid = Grid::parse(&[("dram", "32p"), ("memory", "pcm"), ("prefetch", "stream")])?;
//! let machine = grid.machines(&Catalogue::builtin())?[0].machine(128)?;
//! let outcomes = run(Workload::new(vec![trace], None)?, vec![machine], None, |_| ())?;
//! println!("{} misses, slowdown {:.2}", outcomes[0].counts.misses(), outcomes[0].slowdown());
//! # assert!(outcomes[0].story.used > 0 && outcomes[0].slowdown() > 1.0);
//! # Ok::<(), terrace_base::Error>(())
//! ```
//!
//! Last-level caches under three policies, in one pass over a trace:
//!
//! ```
//! use terrace_base::Bytes;
//! use terrace_policy::llc::Spec;
//! use terrace_sim::llc::{LlcMachine, Mix, Sinks, run};
//! use terrace_trace::generate::{KernelSettings, Zipf};
//!
//! let zipf = Zipf { exponent: 0.8, item: Bytes(64), in_order: false, writes: 30 };
//! let settings = KernelSettings { accesses: 200_000, footprint: Bytes(16 << 20), seed: 1 };
//! let policies = ["lru", "nru", "nhm:n=4"].map(|policy| Spec::parse(policy).unwrap());
//! let machine = LlcMachine::table_2_1(1, policies.into());
//! let traces = vec![("zipf".to_owned(), Box::new(|| zipf.source(&settings)) as _)];
//! let pass = run(&machine, Mix::new(traces, None, None)?, Sinks::default(), |_| ())?;
//! for outcome in &pass.outcomes {
//!     println!("{}: {} misses", outcome.llc.policy, outcome.counts.misses());
//! }
//! # assert_eq!(pass.outcomes.len(), 3);
//! # assert!(pass.outcomes.iter().all(|outcome| outcome.counts.misses() > 1000));
//! # Ok::<(), terrace_base::Error>(())
//! ```

pub mod curve;
pub mod files;
pub mod intern;
pub mod llc;
pub mod mix;
pub mod named;
pub mod pages;
pub mod place;
pub mod setting;
mod simulation;
pub mod sweep;
mod thread_run;
pub mod traces;
pub mod watch;
pub mod workload;

pub use simulation::{Simulation, simulate};
