//! Transfers into the memory between DRAM and the tier, and from it to the tier.

use terrace_base::Nanos;
use terrace_device::{Class, Kind};
use terrace_policy::replacement::PageId;

use super::super::middle::MiddlePages;
use super::super::store::Flags;
use super::Simulation;
use super::traffic::{GOING_ON, transfer_id};

impl Simulation {
    /// Returns whether a page that leaves DRAM goes to the middle memory. Zeros that the machine
    /// knows of need no room anywhere.
    pub(super) fn goes_to_middle(&self, flags: Flags) -> bool {
        self.middle.is_some() && !flags.any(Flags::ZERO.and(Flags::ZEROS))
    }

    /// Returns whether pages that go on to the tier take all the room that evictions may take, so
    /// that no page can leave DRAM.
    pub(super) fn is_middle_blocked(&self) -> bool {
        let middle = self.middle.as_ref();
        middle.is_some_and(|middle| middle.going_on > self.settings.eviction_buffer)
    }

    /// Returns whether the middle memory holds a page.
    pub(super) fn is_in_middle(&self, page: PageId) -> bool {
        let middle = self.middle.as_ref();
        middle.is_some_and(|middle| middle.holds(page))
    }

    /// Moves a page from the eviction buffer to the middle memory, if there is one.
    pub(super) fn enter_middle(&mut self, page: PageId, now: Nanos) -> bool {
        let Some(middle) = &mut self.middle else {
            return false;
        };
        let (device, goes_on) = (middle.device(), middle.take_in(page));
        self.counts.middle_writes += 1;
        let request = self.transfer(page, Kind::Write, Class::Background);
        self.devices.submit(device, now, request);
        if let Some(page) = goes_on {
            self.go_on_to_tier(page, now);
        }
        true
    }

    /// Has a page of the middle memory written to the tier, if that has no copy that is up to date.
    fn go_on_to_tier(&mut self, page: PageId, now: Nanos) {
        if self.store.flags(page).need_no_write() {
            return;
        }
        if let Some(middle) = &mut self.middle {
            middle.going_on += 1;
        }
        let id = transfer_id(page, Kind::Write) | GOING_ON;
        self.write_unbuffered(id, page, now);
    }

    /// Ends the write of a page that went on to the tier.
    pub(super) fn went_on(&mut self, at: Nanos) {
        if let Some(middle) = &mut self.middle {
            middle.going_on -= 1;
        }
        self.flush(at);
        self.let_evict(at);
    }

    /// Reads a page that has left the middle memory for DRAM.
    pub(super) fn read_from_middle(&mut self, page: PageId, class: Class, now: Nanos) {
        let Some(device) = self.middle.as_ref().map(MiddlePages::device) else {
            return;
        };
        self.counts.middle_reads += 1;
        self.store.set(page, Flags::FLIGHT);
        let request = self.transfer(page, Kind::Read, class);
        self.devices.submit(device, now, request);
    }

    /// Has a page leave the middle memory; returns whether it was there.
    pub(super) fn leave_middle(&mut self, page: PageId) -> bool {
        let middle = self.middle.as_mut();
        middle.is_some_and(|middle| middle.let_go(page))
    }
}
