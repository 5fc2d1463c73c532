//! The plug-in for `qemu-user` that records what a program does to its memory.
//!
//! `qemu-x86_64` loads the library that `terrace-recorder-plugin` makes of this one, and calls
//! [`plugin`] for every instruction that it translates and every access that the program makes. A
//! thread's accesses pass the private [`caches`] (if filtering is on), are joined into runs
//! ([`level`]), and go as [`record`]s into a chunk of the shared [`pool`], which `terrace-trace`
//! reads. Where contents are asked for, each run's page is compared with a copy of what was
//! reported of it, and reported ([`observed`]); otherwise a run of accesses to a page says whether
//! it left zeros there (`zeros`). A recording can be restricted to the large mappings that `terrace
//! extend` extends (`extended`). Where allocations are asked for, a library in the program reports
//! them ([`allocation`]). What orders threads is told, too ([`order`]). `terrace-trace` uses this
//! one as a Rust library, for the pool's layout.

pub mod allocation;
pub mod caches;
mod call;
mod copy;
mod dependence;
pub mod discard;
mod exec;
mod extended;
pub mod frame;
mod guest;
pub mod lacked;
pub mod level;
mod mapping;
pub mod observed;
pub mod order;
pub mod page;
pub mod plugin;
pub mod pool;
pub mod program;
pub mod qemu;
pub mod record;
mod shadow;
mod site;
mod stream;
mod zeros;
