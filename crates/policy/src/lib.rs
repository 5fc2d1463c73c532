#![doc = include_str!("../README.md")]

pub mod admission;
pub mod cache;
pub mod control;
pub mod eviction;
mod list;
pub mod llc;
pub mod migration;
pub mod page;
pub mod page_cluster;
pub mod params;
pub mod placement;
pub mod prefetch;
pub mod readahead;
pub mod registry;
pub mod replacement;
pub mod sched;
mod sizes;
pub mod times;
pub mod write;

pub use page::{Fault, Location, Memory, PAGE_BYTES, Page, Residence, Slot, Space, Thread};
