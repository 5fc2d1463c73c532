//! The wall-clock driver: runs an unmodified program with a DRAM budget on stock Linux.
//!
//! The program runs in a memory cgroup ([`group`]); the kernel moves pages to the slower tier, a
//! swap area ([`tier`]). Beside it, on another core, [`steer`] reads the program's major faults
//! ([`watch`]), asks a policy of `terrace-policy` what comes next, and has the kernel fetch it
//! ([`fetch`]). [`run`] puts these together. Each change of the machine is in the
//! [`journal`] before it is made, so that it can be undone.

pub mod control;
pub mod doctor;
pub mod fetch;
pub mod group;
pub mod journal;
pub mod machine;
pub mod measure;
pub mod nodes;
pub mod program;
pub mod run;
pub mod sched;
pub mod steer;
pub mod system;
pub mod tier;
pub mod watch;
