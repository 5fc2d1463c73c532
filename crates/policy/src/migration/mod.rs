//! Migration: which pages lie in fast memory, where slow memory can be used in place.
//!
//! Behind DRAM there may be memory that serves lines by itself: DRAM behind die-stacked DRAM, a CXL
//! expander, another NUMA node. A page there is not missing, only slower (*bypass*, Oskin & Loh
//! 2015, VI), so that a policy may take its time to find out which pages are worth a move. A
//! [`Migration`] policy has no clock and moves nothing. Its driver
//!
//! 1. asks [`Migration::came`] on which side a new page should lie;
//! 2. shows it what the policy wants to see of the accesses: one in [`Migration::every`], pages
//!    accessed between two scans ([`Migration::next_scan`]), and the first access to a page of
//!    [`Plan::hints`] since it was named, which costs a fault. Each says whether it wrote, as far
//!    as processors tell: samples are of loads or stores, pages have dirty bits, faults a kind;
//! 3. before each of these accesses tells a policy that weighs it ([`Migration::weighs_loads`])
//!    what accesses have taken so far;
//! 4. carries out [`Plan::moves`] in their order.
//!
//! To add a policy: copy [`mod@never`], or [`sampled`] for one that moves pages, name it in
//! [`REGISTRY`], and give it a slow twin in `tests/migration/slow/`.

pub mod balance;
pub mod benefit;
mod counts;
pub mod fault;
pub mod hot;
pub mod interleave;
mod loads;
mod make;
pub mod never;
mod registry;
pub mod sampled;
mod sides;
mod trade;
pub mod write_aware;

use std::num::NonZeroU32;
use std::time::Duration;

pub use loads::{Load, Loads};
pub use make::{Costs, Entry, Made, Make, Spec};
pub use registry::REGISTRY;

use crate::replacement::PageId;

/// Where a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// In the small, fast memory.
    Fast,
    /// In the large, slow memory.
    Slow,
}

/// An access to a page, or accesses to it between two scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// The page.
    pub page: PageId,
    /// Whether it was written; false where the driver cannot tell.
    pub wrote: bool,
}

impl Access {
    /// Returns an access that reads, or of which that is not known.
    pub fn read(page: PageId) -> Self {
        Self { page, wrote: false }
    }

    /// Returns an access that writes.
    pub fn write(page: PageId) -> Self {
        Self { page, wrote: true }
    }
}

/// A page that should move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The page, which lies on the other side.
    pub page: PageId,
    /// The side where it should lie.
    pub to: Side,
}

/// What a policy asks of its driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Pages that should move, in this order: room is made before it is needed.
    pub moves: Vec<Move>,
    /// Pages whose next access the driver should catch and report ([`Migration::hinted`]).
    pub hints: Vec<PageId>,
}

impl Plan {
    /// Forgets all of it.
    pub fn clear(&mut self) {
        self.moves.clear();
        self.hints.clear();
    }

    /// Asks for a page to move.
    fn go(&mut self, page: PageId, to: Side) {
        self.moves.push(Move { page, to });
    }
}

/// Decides which pages lie in fast memory.
///
/// Times are those since the driver began, and do not go back. Pages that a policy does not know,
/// or that are gone, are ignored. After every move at most as many pages are fast as there is room
/// for.
pub trait Migration: Send {
    /// Handles what moves cost on this machine from now on; before it is told they are free and
    /// save nothing.
    fn set_costs(&mut self, _costs: Costs) {}

    /// Handles a new page, and returns where it should lie.
    fn came(&mut self, page: PageId) -> Side;

    /// Forgets a page that was given back.
    fn gone(&mut self, page: PageId);

    /// One access in how many the policy wants to see, up to the next that it does; `None` if it
    /// looks at none.
    fn every(&self) -> Option<NonZeroU32> {
        None
    }

    /// Whether lines that caches write back are among the accesses of [`Migration::every`], each as
    /// one that writes. A memory that counts what reaches it sees them, a processor does not.
    fn sees_write_backs(&self) -> bool {
        false
    }

    /// Whether the policy wants to be told what accesses take ([`Migration::loaded`]).
    fn weighs_loads(&self) -> bool {
        false
    }

    /// Handles what accesses to both memories have taken so far. Before it is told, all there is
    /// are [`Costs`].
    fn loaded(&mut self, _loads: Loads) {}

    /// Handles one access of [`Migration::every`].
    fn sampled(&mut self, _access: Access, _time: Duration, _plan: &mut Plan) {}

    /// When the accessed pages should be listed next; `None` if never.
    fn next_scan(&self) -> Option<Duration> {
        None
    }

    /// Handles the pages that were accessed since the last scan, in the order of their numbers.
    fn scanned(&mut self, _accessed: &[Access], _time: Duration, _plan: &mut Plan) {}

    /// Handles the first access to a page so long after it was named in [`Plan::hints`].
    fn hinted(&mut self, _access: Access, _waited: Duration, _time: Duration, _plan: &mut Plan) {}

    /// Handles that a page lies on this side after all, as the driver could not move it.
    fn stays(&mut self, page: PageId, side: Side);
}
