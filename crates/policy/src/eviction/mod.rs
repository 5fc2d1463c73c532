//! Eviction: which pages leave DRAM before the memory's own replacement would choose others.
//!
//! The kernel reclaims pages in about the order of their last use, which is the worst order for a
//! program that goes through more memory than its DRAM again and again: each page leaves shortly
//! before it is needed. A driver cannot replace the kernel's choice, but it can have pages paged
//! out before the kernel needs room, and so choose itself. An [`Eviction`] policy hears which
//! pages come in, and names those that should go.
//!
//! To add a policy: copy [`hold`], and name it in [`REGISTRY`].

mod groups;
pub mod hold;
pub mod kernel;
mod make;
mod registry;
mod trial;

pub use make::{Entry, Made, Make, Spec};
pub use registry::REGISTRY;

use crate::page::{Location, Space};

/// Decides which pages leave DRAM early.
///
/// A policy has no clock, and does no I/O. It sees the pages that come in from the tier, not the
/// touches of pages in DRAM.
pub trait Eviction: Send {
    /// Handles the first touch of a page since it came in from the tier: by a demand fault, or
    /// `foreseen`, fetched ahead or about to be fetched. `free` is the number of pages of DRAM
    /// without content. Appends the pages that should leave DRAM now to `leaving`, in the order of
    /// their use.
    fn arrived(&mut self, at: Location, foreseen: bool, free: u64, leaving: &mut Vec<Location>);

    /// Whether it is worth to report further arrivals, and to fetch pages for it that would come by
    /// themselves: pages are held, or may be soon.
    fn wants_arrivals(&self) -> bool;

    /// Forgets an address space that has ended.
    fn forget(&mut self, space: Space);
}
