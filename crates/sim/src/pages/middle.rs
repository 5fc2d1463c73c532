//! Memory between DRAM and the tier: a page that leaves DRAM goes there, and the page that came
//! first goes on to the tier where there is no room.
//!
//! It holds no page of DRAM, as Linux has it where memory is demoted from node to node, and then
//! swapped. A page in it has its place in the tier, or none, as it had it in DRAM: it is written
//! there only as it goes on, and only if the tier has no copy that is up to date.

use terrace_policy::replacement::fifo::Fifo;
use terrace_policy::replacement::{PageId, Replacement};

/// Pages of the middle memory.
pub(super) struct MiddlePages {
    pages: Fifo,
    /// Its device, behind those of the tier.
    device: usize,
    /// Pages that are being written to the tier.
    pub(super) going_on: usize,
}

impl MiddlePages {
    /// Returns an empty memory of so many pages.
    pub(super) fn new(pages: usize, device: usize) -> Self {
        Self {
            pages: Fifo::new(pages),
            device,
            going_on: 0,
        }
    }

    /// Returns its device.
    pub(super) fn device(&self) -> usize {
        self.device
    }

    /// Returns whether it holds a page.
    pub(super) fn holds(&self, page: PageId) -> bool {
        self.pages.contains(page)
    }

    /// Takes a page in; returns the one that has to go on, if there is no room.
    pub(super) fn take_in(&mut self, page: PageId) -> Option<PageId> {
        self.pages.prefetch(page)
    }

    /// Lets a page go; returns whether it was there.
    pub(super) fn let_go(&mut self, page: PageId) -> bool {
        let is_here = self.holds(page);
        if is_here {
            self.pages.remove(page);
        }
        is_here
    }
}
