//! Changes of a program's mappings: memory that comes, goes, or moves.

use std::io;

use terrace_policy::page::{PAGE_BYTES, Page};
use terrace_policy::replacement::PageId;

use super::{Known, Pager, State};
use crate::ranges::Extent;
use crate::uffd::Event;

/// Pages that are asked about at once.
const AT_ONCE: u64 = 4096;

impl Pager {
    /// Takes memory from `start` to before `end` over: pages that are present in it are resident.
    ///
    /// # Errors
    /// Returns the kernel's if it is no private anonymous memory.
    pub fn adopt(&mut self, start: Page, end: Page) -> io::Result<()> {
        // What was there before is not there any more, even if that event is still to come.
        self.release(start, end);
        self.grow_to(start, end)
    }

    /// Takes memory from `start` to before `end` over as far as it is not known: what `mremap` has
    /// left there keeps its contents.
    ///
    /// # Errors
    /// Returns those of [`Pager::adopt`].
    pub fn grow_to(&mut self, start: Page, end: Page) -> io::Result<()> {
        self.uffd
            .register(start.start(), end.start() - start.start())?;
        for extent in self.ranges.insert(start, end) {
            self.pages.resize(self.ranges.used(), Known::default());
            for (page, id) in extent.pages() {
                *self.page(id) = Known {
                    at: page.0,
                    ..Known::default()
                };
            }
            self.adopt_present(extent);
        }
        Ok(())
    }

    /// Whether a page is of the memory.
    ///
    /// # Errors
    /// Returns that it is not.
    pub fn find(&self, page: Page) -> io::Result<()> {
        let found = self.ranges.find(page);
        found.map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    /// Pages that are present already are resident, and dirty.
    fn adopt_present(&mut self, extent: Extent) {
        let mut present = vec![0; AT_ONCE as usize];
        let pages: Vec<_> = extent.pages().collect();
        for part in pages.chunks(AT_ONCE as usize) {
            let address = part[0].0.start();
            let bytes = part.len() * PAGE_BYTES as usize;
            // SAFETY: the kernel writes a byte for each page of the range, at most as many as there
            // are.
            let asked = unsafe { libc::mincore(address as *mut _, bytes, present.as_mut_ptr()) };
            if asked != 0 {
                return;
            }
            for ((_, id), present) in part.iter().zip(&present) {
                if present & 1 == 1 {
                    self.resident += 1;
                    self.grow();
                    self.touch(*id, true);
                    self.came(*id, true);
                }
            }
        }
    }

    /// Forgets memory from `start` to before `end`, which the program unmaps.
    pub fn release(&mut self, start: Page, end: Page) {
        for extent in self.ranges.cut(start, end) {
            extent.pages().for_each(|(_, page)| self.drop_page(page));
            self.ranges.free(extent);
        }
    }

    /// Follows an event that is no fault.
    pub(super) fn change(&mut self, event: &Event) {
        match *event {
            Event::Fault { .. } => {}
            Event::Remove { start, end } => {
                for extent in self.ranges.within(Page::of(start), Page::of(end)) {
                    extent.pages().for_each(|(_, page)| self.drop_page(page));
                }
            }
            Event::Unmap { start, end } => self.unmapped.push((start, end)),
            Event::Remap { from, to, bytes } => self.moved(from, to, bytes),
        }
    }

    /// Memory was unmapped, unless the range was mapped and adopted again before the event came.
    pub(super) fn unmapped(&mut self, start: Page, end: Page) {
        for extent in self.ranges.within(start, end) {
            let bytes = extent.pages * PAGE_BYTES;
            let start = extent.start.start();
            // Only registered memory can be protected, and what another userfaultfd has cannot be
            // registered. Neither does harm to memory that is this one's.
            let asked = self.uffd.protect(start, bytes);
            let asked = asked.and_then(|()| self.uffd.register(start, bytes));
            match asked.map_err(|error| error.raw_os_error()) {
                Ok(()) => {}
                Err(Some(libc::EAGAIN)) => {
                    self.unmapped.push((start, start + bytes));
                }
                Err(_) => self.release(extent.start, Page(extent.start.0 + extent.pages)),
            }
        }
    }

    /// Memory was moved by `mremap`.
    fn moved(&mut self, from: u64, to: u64, bytes: u64) {
        let (from, to) = (Page::of(from), Page::of(to));
        let pages = bytes / PAGE_BYTES;
        self.release(to, Page(to.0 + pages));
        for extent in self.ranges.cut(from, Page(from.0 + pages)) {
            let start = Page(extent.start.0 - from.0 + to.0);
            let moved = Extent { start, ..extent };
            self.ranges.put(moved);
            for (page, id) in moved.pages() {
                // The engine knows pages by their addresses.
                self.unused(id);
                self.page(id).at = page.0;
            }
        }
        // A thread that waits at the old address has to learn that nothing is there.
        let _ = self.uffd.wake(from.start(), bytes);
    }

    /// The contents of a page are dropped.
    fn drop_page(&mut self, page: PageId) {
        self.settle(page);
        let known = *self.page(page);
        match known.state {
            State::Nowhere => return,
            State::Resident => self.resident -= 1,
            State::Sampled(_) => {
                self.drop_sampled(page);
                self.resident -= 1;
            }
            State::Staged(slot) => self.staging.abandon(slot as usize),
            State::Held => {
                self.release_held(page);
                self.resident -= 1;
            }
            State::Slow | State::Lost | State::Fetching | State::Coming => {}
        }
        self.unused(page);
        self.figures.kept -= u64::from(known.kept);
        self.footprint -= 1;
        self.policy.remove(page);
        self.store.forget(page);
        *self.page(page) = Known {
            at: known.at,
            ..Known::default()
        };
    }

    /// Waits for the transfer of a page that is under way. Other pages whose transfers end
    /// meanwhile are mapped later: those of a change that is still to be followed must not come to
    /// an address at which they are dropped already.
    fn settle(&mut self, page: PageId) {
        self.settling = true;
        while self.store.busy(page) {
            self.end_transfers();
        }
        self.settling = false;
        self.returning.retain(|returning| *returning != page);
        if self.pages[page.index()].state == State::Fetching {
            // It has come, and the mapping that it was for changes.
            self.arrived.retain(|(arrived, _)| *arrived != page);
            self.lost.retain(|lost| *lost != page);
            self.fetching.remove(&page.0);
            self.resident -= 1;
        }
    }
}
