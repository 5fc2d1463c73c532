//! Sampled references: what a policy with reference bits hears of pages that are in DRAM.
//!
//! Linux does not tell user space that a page was touched. So once DRAM is full the pages that have
//! been at their addresses for longest are taken from there, and lie aside in DRAM. The next touch
//! of one is a soft fault: it brings the page back, and is told to the policy, which has the page
//! all the while. A page that is not touched before the policy evicts it leaves from where it lies.
//!
//! Babaoglu and Joy, "Converting a swap-based system to do paging in an architecture lacking
//! page-referenced bits", SOSP 1981, have pages that are in memory and invalid stand for clear
//! reference bits; Draves, "Page replacement and reference bit emulation in Mach", USENIX Mach
//! Symposium 1991, keeps a share of memory so, first in, first out. Here as there a touch shows
//! only while its page is in that share: those before it, as of a page that has just come, do not.

use std::collections::VecDeque;
use std::time::Instant;

use rustix::mm::Advice;
use terrace_base::Result;
use terrace_policy::page::PAGE_BYTES;
use terrace_policy::replacement::PageId;
use terrace_policy::write::Contents;

use super::{Fault, Filled, Known, Pager, State};
use crate::aside::Aside;
use crate::uffd::COPY_PROTECTED;

/// Pages that stay at their addresses at least, so that a thread gets to touch those that it waits
/// for.
const LEAST_ACTIVE: usize = 4;

/// A page that came to its address, and the number of that arrival.
type Arrival = (PageId, u32);

/// Which pages lie aside, and which do so next.
pub(super) struct Sampling {
    aside: Aside,
    slots: usize,
    /// Those that hold no page.
    free: Vec<u32>,
    /// In their order; some of these pages have left since.
    arrivals: VecDeque<Arrival>,
    /// The number of the latest arrival of each page.
    latest: Vec<u32>,
    /// Arrivals so far.
    arrived: u32,
    /// Pages that the policy decides over.
    policy: usize,
}

impl Sampling {
    /// Samples a share of the pages that the policy decides over; `None` if there is none.
    ///
    /// # Errors
    /// Returns those of [`Aside::new`].
    pub fn new(share: Option<f64>, policy: usize) -> Result<Option<Self>> {
        let Some(share) = share else {
            return Ok(None);
        };
        let most = policy.saturating_sub(LEAST_ACTIVE);
        let slots = ((share * policy as f64) as usize).min(most).max(1);
        Ok(Some(Self {
            aside: Aside::new(slots)?,
            slots,
            free: (0..slots as u32).rev().collect(),
            arrivals: VecDeque::new(),
            latest: Vec::new(),
            arrived: 0,
            policy,
        }))
    }

    /// Goes on in a forked process, which has a copy of the pages that lie aside.
    ///
    /// # Errors
    /// Returns those of [`Aside::new`].
    pub fn begin_anew(&mut self) -> Result<()> {
        self.aside.begin_anew()
    }

    /// Lets children have the pages that lie aside, or keeps them from it.
    pub fn advise(&self, advice: Advice) {
        self.aside.advise(advice);
    }

    /// Returns the address of a slot.
    pub fn address(&self, slot: u32) -> u64 {
        self.aside.address(slot as usize)
    }

    fn contents(&self, slot: u32) -> &Contents {
        self.aside.contents(slot as usize)
    }

    /// The page of a slot was moved elsewhere.
    pub fn emptied(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Drops what a slot holds.
    pub fn empty(&mut self, slot: u32) {
        self.aside.drop_pages(slot as usize..slot as usize + 1);
        self.emptied(slot);
    }

    fn arrive(&mut self, page: PageId, pages: &[Known]) {
        if self.latest.len() <= page.index() {
            self.latest.resize(pages.len(), 0);
        }
        self.arrived = self.arrived.wrapping_add(1);
        self.latest[page.index()] = self.arrived;
        self.arrivals.push_back((page, self.arrived));
        // Pages that leave from their addresses are not looked for.
        if self.arrivals.len() > 2 * self.policy {
            let mut arrivals = std::mem::take(&mut self.arrivals);
            arrivals.retain(|arrival| self.is_there(*arrival, pages));
            self.arrivals = arrivals;
        }
    }

    /// Whether the page of an arrival is at its address since, and the policy has it.
    fn is_there(&self, (page, number): Arrival, pages: &[Known]) -> bool {
        let known = &pages[page.index()];
        let stays = known.state == State::Resident && !known.leaving && !known.kept;
        stays && self.latest[page.index()] == number
    }

    /// Returns the page that has been at its address for longest, if more have come since than are
    /// to stay there.
    fn next(&mut self, pages: &[Known]) -> Option<PageId> {
        let active = (self.policy - self.slots) as u32;
        while let Some(&arrival) = self.arrivals.front()
            && self.arrived.wrapping_sub(arrival.1) >= active
        {
            self.arrivals.pop_front();
            if self.is_there(arrival, pages) {
                return Some(arrival.0);
            }
        }
        None
    }
}

impl Pager {
    /// Notes that a page has come to its address.
    pub(super) fn arrived(&mut self, page: PageId) {
        if let Some(sampling) = &mut self.sampling {
            sampling.arrive(page, &self.pages);
        }
    }

    /// Takes pages from their addresses as far as there are slots, once DRAM is full, and returns
    /// whether it took any.
    pub(super) fn sample(&mut self) -> bool {
        let Some(sampling) = &mut self.sampling else {
            return false;
        };
        if self.suspended > 0 || self.policy.resident() < sampling.policy {
            return false;
        }
        let began = Instant::now();
        let before = self.figures.sampled;
        while let Some(sampling) = &mut self.sampling
            && let Some(&slot) = sampling.free.last()
            && let Some(page) = sampling.next(&self.pages)
            && self.sample_one(page, slot)
        {}
        let any = self.figures.sampled > before;
        if any {
            self.figures.sample_nanos += began.elapsed().as_nanos() as u64;
        }
        any
    }

    /// Takes a page from its address, and returns whether it is done with. One that the kernel does
    /// not move is left there until it has come anew: it may be shared since a fork, locked,
    /// read-only, or used by a device.
    fn sample_one(&mut self, page: PageId, slot: u32) -> bool {
        let address = self.address(page);
        let Some(sampling) = &mut self.sampling else {
            return false;
        };
        let taken = sampling.aside.take(address, slot as usize, 1);
        match taken.map_err(|error| error.raw_os_error()) {
            Ok(1..) => {
                sampling.free.pop();
                let known = &mut self.pages[page.index()];
                known.state = State::Sampled(slot);
                known.look_at_filled(sampling.contents(slot));
                self.figures.sampled += 1;
            }
            Ok(0) | Err(Some(libc::EAGAIN)) => {
                let arrival = (page, sampling.latest[page.index()]);
                sampling.arrivals.push_front(arrival);
                return false;
            }
            // The program dropped it in a way that is not reported.
            Err(Some(libc::ENOENT)) => self.gone(page),
            Err(_) => self.figures.unsampled += 1,
        }
        true
    }

    /// A thread touches a page that lies aside: it comes back, moved, or copied if it is clean and
    /// only read, so that its first write shows. DRAM holds it twice while it is copied.
    pub(super) fn refer(&mut self, page: PageId, slot: u32, fault: Fault) {
        let address = self.address(page);
        let moves = fault.write || self.page(page).dirty;
        let Some(sampling) = &mut self.sampling else {
            return;
        };
        let moved = match moves {
            true => self.uffd.move_or_copy(sampling.address(slot), address),
            false => {
                let from = sampling.contents(slot).as_ptr();
                let copied = self.uffd.copy(from, address, PAGE_BYTES, COPY_PROTECTED);
                copied.map(|()| false)
            }
        };
        match moved {
            Ok(true) => sampling.emptied(slot),
            Ok(false) => sampling.empty(slot),
            // A mapping changes: the thread faults again if it still has to.
            Err(_) => return self.wake(address),
        }
        self.page(page).filled = Filled::No;
        match self.page(page).leaving || self.page(page).kept {
            true => self.refer_to_evicted(page, fault.write),
            false => {
                self.figures.references += 1;
                self.figures.reference_nanos += fault.seen.elapsed().as_nanos() as u64;
                self.page(page).state = State::Resident;
                // The first touch of a page that was mapped in advance is no other than that.
                if !self.seen(page) {
                    self.touch(page, fault.write);
                }
            }
        }
        self.came(page, moves);
    }

    /// The policy has let go of a page that is touched while it lies aside: to the policy it comes
    /// in, as from the staging range.
    fn refer_to_evicted(&mut self, page: PageId, write: bool) {
        self.figures.returns += 1;
        let known = self.page(page);
        known.leaving = false;
        let kept = std::mem::take(&mut known.kept);
        self.figures.kept -= u64::from(kept);
        self.seen(page);
        self.touch(page, write);
    }

    /// Drops a page that lies aside, if it does.
    pub(super) fn drop_sampled(&mut self, page: PageId) {
        if let (State::Sampled(slot), Some(sampling)) = (self.page(page).state, &mut self.sampling)
        {
            sampling.empty(slot);
        }
    }
}
