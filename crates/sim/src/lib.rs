//! The virtual-time driver: predicts what a memory and a policy would do to a program.
//!
//! Last-level caches under three policies, in one pass over a trace:
//!
//! ```
//! use terrace_base::Bytes;
//! use terrace_policy::llc::Spec;
//! use terrace_sim::llc::{LlcMachine, Mix, Sinks, run};
//! use terrace_trace::generate::{Settings, Zipf};
//!
//! let zipf = Zipf { exponent: 0.8, item: Bytes(64), in_order: false, writes: 30 };
//! let settings = Settings { accesses: 200_000, footprint: Bytes(16 << 20), seed: 1 };
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

pub mod intern;
pub mod llc;
pub mod pages;
pub mod setting;
pub mod sweep;
pub mod workload;
