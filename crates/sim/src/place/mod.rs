//! Static placement: what a program gains if the objects of some allocation sites are in fast
//! memory, and the rest in slow memory (Oskin & Loh 2015, III).
//!
//! Which lines reach memory does not depend on where objects are: the caches of [`crate::llc`]
//! serve the trace once, each access marked with the site of its object (`owned`). Of the requests
//! to memory that follow, those that overlap make a group (`groups`), whose time is that of the
//! memory that takes longer for its part ([`Memory`]). A program has few different groups, so a
//! profile counts them ([`Profile`]), and the time of a placement is a sum over these. Where one
//! site moves, only the groups with lines of it change (`incremental`); [`whole`] simulates the
//! program anew for each placement, as the paper runs it, and is what the fast way is tested
//! against.

mod amount;
mod file;
mod groups;
mod incremental;
mod memory;
pub(crate) mod objects;
mod outcome;
mod owned;
pub(crate) mod profile;
pub mod whole;

pub use amount::Amount;
pub use file::{PlacedSite, PlacementFile};
pub use incremental::Incremental;
pub use memory::{Memories, Memory};
pub use outcome::{Placed, Share, Times, place, time_of};
pub use profile::{Profile, SiteProfile, profile};

use std::path::PathBuf;

use crate::llc::LlcMachine;

/// What a program is placed on.
#[derive(Clone, Debug)]
pub struct PlaceMachine {
    /// The caches; one last level, no memories.
    pub caches: LlcMachine,
    /// Fast and slow memory.
    pub memories: Memories,
}

/// A trace that was recorded with allocations.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The file.
    pub path: PathBuf,
    /// The rows that are looked at, from the first on.
    pub limit: Option<u64>,
}
