//! Evictions: pages leave by way of the staging range.

use std::io;

use terrace_policy::replacement::PageId;

use super::{Filled, Known, Pager, State};
use crate::staging::Slot;

impl Pager {
    /// Whether another page can come into DRAM; makes room for it if need be.
    pub(super) fn has_room(&mut self) -> bool {
        let bound = self.dram + self.figures.kept as usize;
        if self.in_dram() < bound {
            return true;
        }
        self.reclaim();
        if self.in_dram() >= bound {
            self.stage();
            self.write_staged(0);
            self.reclaim();
        }
        // A thread that copies a mapping while it is moved must get on. It waits for pages that
        // have left before.
        self.in_dram() < bound || self.suspended > 0 && self.staging.held() == 0
    }

    /// Moves the pages that are to leave into the staging range, neighbours at once, as far as
    /// there are slots.
    pub(super) fn stage(&mut self) {
        if self.suspended > 0 {
            return;
        }
        let mut leaving: Vec<PageId> = self.leaving.drain(..).collect();
        leaving.retain(|page| {
            let known = &self.pages[page.index()];
            known.leaving && matches!(known.state, State::Resident | State::Sampled(_))
        });
        leaving.sort_unstable_by_key(|page| self.pages[page.index()].at);
        // A page that was dropped and has come again may be here twice.
        leaving.dedup();
        let mut rest = &leaving[..];
        while !rest.is_empty() {
            if self.staging.free().is_empty() {
                self.reclaim();
            }
            let free = self.staging.free().len();
            let moved = match self.neighbours(rest).min(free) {
                0 => break,
                pages => self.stage_neighbours(&rest[..pages]),
            };
            match moved {
                Some(moved) => rest = &rest[moved..],
                None => break,
            }
        }
        self.leaving.extend(rest);
    }

    /// Returns how many of these pages lie in a row from the first on: at their addresses, or one
    /// that is sampled.
    fn neighbours(&self, pages: &[PageId]) -> usize {
        let known = |page: PageId| &self.pages[page.index()];
        let pairs = pages.windows(2);
        let follows = |pair: &&[PageId]| {
            let (one, next) = (known(pair[0]), known(pair[1]));
            next.at == one.at + 1 && (one.state, next.state) == (State::Resident, State::Resident)
        };
        1 + pairs.take_while(follows).count()
    }

    /// Returns the address at which a page in DRAM lies that has not left.
    pub(super) fn lies_at(&self, page: PageId) -> u64 {
        match (self.pages[page.index()].state, &self.sampling) {
            (State::Sampled(slot), Some(sampling)) => sampling.address(slot),
            _ => self.address(page),
        }
    }

    /// Moves pages in a row to the staging range, and returns how many are done with; `None` if the
    /// kernel is to be asked later.
    fn stage_neighbours(&mut self, pages: &[PageId]) -> Option<usize> {
        let start = self.staging.free().start;
        match self.staging.take(self.lies_at(pages[0]), pages) {
            Ok(0) => None,
            Ok(moved) => {
                self.staged(&pages[..moved], start);
                Some(moved)
            }
            // They are of two mappings, whose pages are not moved at once: the first goes alone.
            Err(error) if pages.len() > 1 && error.raw_os_error() == Some(libc::EINVAL) => {
                self.stage_neighbours(&pages[..1])
            }
            Err(error) => self.stage_stubborn(pages[0], error).then_some(1),
        }
    }

    /// Moves a page to the staging range that the kernel has refused to move, and returns whether
    /// it is done with.
    fn stage_stubborn(&mut self, page: PageId, error: io::Error) -> bool {
        let staged = match error.raw_os_error() {
            Some(libc::EBUSY) => self.stage_shared(page),
            _ => Err(error),
        };
        staged.map_or_else(|error| self.not_moved(page, &error), |()| true)
    }

    /// Pages in a row are in the staging range, from a slot on.
    pub(super) fn staged(&mut self, pages: &[PageId], start: usize) {
        for (at, page) in pages.iter().enumerate() {
            let known = &mut self.pages[page.index()];
            if let (State::Sampled(slot), Some(sampling)) = (known.state, &mut self.sampling) {
                sampling.emptied(slot);
            }
            known.state = State::Staged((start + at) as u32);
            known.leaving = false;
            known.look_at_filled(self.staging.contents(start + at));
        }
        self.resident -= pages.len();
    }

    /// Decides on a page that the kernel does not move, and returns whether that is for good.
    fn not_moved(&mut self, page: PageId, error: &io::Error) -> bool {
        match error.raw_os_error() {
            Some(libc::EAGAIN) => return false,
            // The program dropped it in a way that is not reported.
            Some(libc::ENOENT) => self.gone(page),
            // Locked, or used by a device.
            _ => self.keep(page),
        }
        true
    }

    /// A page that cannot be evicted stays in DRAM.
    fn keep(&mut self, page: PageId) {
        self.figures.kept += 1;
        let known = self.page(page);
        (known.leaving, known.kept) = (false, true);
    }

    /// A page that has not left is no longer there.
    pub(super) fn gone(&mut self, page: PageId) {
        self.drop_sampled(page);
        self.resident -= 1;
        self.footprint -= 1;
        self.unused(page);
        let known = self.page(page);
        *known = Known {
            at: known.at,
            ..Known::default()
        };
        self.policy.remove(page);
        self.store.forget(page);
    }

    /// Begins to write staged pages as far as fewer than `rest` younger ones are staged. Pages that
    /// come back soon are not written for nothing.
    pub(super) fn write_staged(&mut self, rest: usize) {
        while let Some((slot, held)) = self.staging.due(rest) {
            if let Slot::Holds(page) = held {
                self.evict(page, slot);
            }
        }
    }

    /// A staged page is evicted: it is written if need be.
    fn evict(&mut self, page: PageId, slot: usize) {
        let Known {
            dirty,
            unseen,
            filled,
            ..
        } = *self.page(page);
        if filled == Filled::Ahead {
            // Nobody is known to have touched it, and it leaves as it came.
            return;
        }
        if unseen {
            self.unused(page);
            if !dirty {
                // Without prefetching it would not have come, and it leaves as it came.
                return;
            }
        }
        let contents = self.staging.contents(slot);
        if let Some(judge) = &self.judge {
            judge.evicted(page, dirty.then_some(contents));
        }
        match dirty {
            true => self.figures.evicted_dirty += 1,
            false => self.figures.evicted_clean += 1,
        }
        if !dirty && self.store.inclusive() {
            return;
        }
        let busy = self.store.busy(page);
        let known = self.page(page);
        (known.dirty, known.again, known.writing) = (true, busy, !busy);
        if !busy {
            self.store.put(page, self.staging.contents(slot));
        }
    }

    /// A page was written.
    pub(super) fn put(&mut self, page: PageId) {
        self.figures.pages_written += 1;
        let known = self.page(page);
        known.copied = true;
        // If it came back meanwhile, what was written is no longer what it holds.
        if std::mem::take(&mut known.writing) {
            known.dirty = false;
        }
        self.put_again(page);
    }

    /// Writes a page that could not be written earlier because it was being written.
    fn put_again(&mut self, page: PageId) {
        let known = self.page(page);
        if let State::Staged(slot) = known.state
            && std::mem::take(&mut known.again)
        {
            known.writing = true;
            self.store.put(page, self.staging.contents(slot as usize));
        }
    }

    /// A page could not be written.
    pub(super) fn unwritten(&mut self, page: PageId) {
        self.figures.write_errors += 1;
        let known = self.page(page);
        known.copied = false;
        match std::mem::take(&mut known.writing) {
            true => self.bring_back(page),
            false => self.put_again(page),
        }
    }

    /// A staged page that could not be written goes back to its address, and stays in DRAM.
    pub(super) fn bring_back(&mut self, page: PageId) {
        if self.settling {
            return self.returning.push_back(page);
        }
        let address = self.address(page);
        // It may have come back meanwhile, and be on its way again.
        let Known {
            state: State::Staged(slot),
            writing: false,
            ..
        } = *self.page(page)
        else {
            return;
        };
        if self.move_back(slot as usize, address).is_err() {
            // A mapping changes.
            return self.returning.push_back(page);
        }
        self.resident += 1;
        self.came(page, true);
        self.keep(page);
    }

    /// Moves what a slot holds to an address.
    ///
    /// # Errors
    /// Returns the kernel's.
    pub(super) fn move_back(&mut self, slot: usize, address: u64) -> io::Result<()> {
        match self
            .uffd
            .move_or_copy(self.staging.address(slot), address)?
        {
            true => self.staging.emptied(slot),
            false => self.staging.empty(slot),
        }
        Ok(())
    }

    /// Empties the oldest slots whose pages the slow memory holds.
    fn reclaim(&mut self) {
        let most = self.staging.slots().div_ceil(4);
        let (pages, footprint) = (&mut self.pages, &mut self.footprint);
        let figures = &mut self.figures;
        self.staging.reclaim(most, |page| {
            let known = &mut pages[page.index()];
            if known.dirty {
                return false;
            }
            known.state = match known.copied {
                true => State::Slow,
                false => State::Nowhere,
            };
            *footprint -= usize::from(!known.copied);
            let unused = u64::from(std::mem::take(&mut known.filled) == Filled::Ahead);
            figures.filled_unused += unused;
            figures.first_touches -= unused;
            true
        });
    }
}
