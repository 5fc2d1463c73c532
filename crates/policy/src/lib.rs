//! What to fetch, what to keep, what to write: policies as plain state machines.
//!
//! Nothing here has a clock, a thread, I/O or a system call. A driver tells a
//! policy what happened and carries out what it answers: the live driver on the
//! wall clock (`terrace-live`), the simulator in virtual time. Both run the same
//! code, so what one says can be checked with the other.

pub mod cache;
pub mod llc;
pub mod page;
pub mod page_cluster;
pub mod params;
pub mod prefetch;
pub mod replacement;

pub use page::{Fault, Location, Memory, PAGE_BYTES, Page, Residence, Slot, Space, Thread};
