//! Faults: pages come in.

use std::io;

use terrace_policy::page::{PAGE_BYTES, Page};
use terrace_policy::replacement::PageId;

use super::{Fault, Fetch, Filled, Pager, State};
use crate::slow::Buffer;
use crate::store::Ended;
use crate::uffd::{COPY_PROTECTED, feature};

/// Aligned as [`Buffer`] is.
pub(super) static ZEROS: Buffer = Buffer([0; PAGE_BYTES as usize]);

/// What became of a page that was to be mapped.
pub(super) enum Mapped {
    /// It is there.
    Now,
    /// A page was there already; its threads are awake.
    Before,
    /// A mapping changes: there is an event to be read first.
    NotYet,
    /// Nothing is registered there any more.
    Never,
}

impl Mapped {
    fn of(result: io::Result<()>) -> Self {
        match result.as_ref().map_err(io::Error::raw_os_error) {
            Ok(()) => Self::Now,
            Err(Some(libc::EEXIST)) => Self::Before,
            Err(Some(libc::EAGAIN)) => Self::NotYet,
            Err(_) => Self::Never,
        }
    }
}

impl Pager {
    /// A thread writes to a page that was mapped to be read.
    pub(super) fn first_write(&mut self, fault: Fault) {
        let found = self.ranges.find(Page::of(fault.address));
        match found.map(|page| (page, self.page(page).state)) {
            Some((page, State::Resident)) => {
                self.page(page).dirty = true;
                self.seen(page);
            }
            // The program has said that its contents may be freed (`MADV_FREE`), and it is there
            // still.
            Some((page, State::Nowhere)) if is_present(fault.address) => {
                self.resident += 1;
                self.grow();
                self.touch(page, true);
                self.came(page, true);
            }
            // It has left meanwhile: the thread faults again, on a missing page.
            _ => return self.wake(fault.address),
        }
        self.figures.first_writes += 1;
        if self.uffd.unprotect(fault.address, PAGE_BYTES).is_err() {
            // A mapping changes: the thread faults again.
            self.wake(fault.address);
        }
    }

    /// A thread touches a page that is not mapped.
    pub(super) fn missing(&mut self, fault: Fault) {
        let Some(page) = self.ranges.find(Page::of(fault.address)) else {
            return self.unknown(fault);
        };
        match self.page(page).state {
            State::Nowhere => self.fill(page, fault),
            State::Resident => self.resident(page, fault),
            State::Sampled(slot) => self.refer(page, slot, fault),
            State::Staged(slot) => self.return_staged(page, slot as usize, fault),
            State::Slow => self.fetch(page, fault),
            State::Fetching => {
                if let Some(fetch) = self.fetching.get_mut(&page.0) {
                    fetch.write |= fault.write;
                }
            }
            State::Coming => self.overtake(page, fault),
            State::Held => self.first_use(page, fault),
            State::Lost => self.wake(fault.address),
        }
    }

    /// Memory that was registered and has no number: it grew in its place, or was unmapped
    /// meanwhile. It stays in DRAM.
    fn unknown(&mut self, fault: Fault) {
        match Mapped::of(self.uffd.zero(fault.address, PAGE_BYTES)) {
            Mapped::Now => {}
            Mapped::NotYet => self.waiting.push_back(fault),
            Mapped::Before | Mapped::Never => self.wake(fault.address),
        }
    }

    /// A page that was mapped after the thread looked, or whose contents the program has dropped at
    /// the moment at which they came in.
    fn resident(&mut self, page: PageId, fault: Fault) {
        match self.map(page, &ZEROS, fault.write) {
            Mapped::NotYet => self.waiting.push_back(fault),
            Mapped::Now => self.page(page).dirty = true,
            Mapped::Before | Mapped::Never => {}
        }
    }

    /// The first touch of a page.
    fn fill(&mut self, page: PageId, fault: Fault) {
        // The thread must not meet the next page before it is there.
        self.fill_ahead(page, fault.write);
        if !self.has_room() {
            return self.waiting.push_back(fault);
        }
        if let Mapped::NotYet = self.fill_one(page, fault.write) {
            self.waiting.push_back(fault);
        }
    }

    /// Maps zeros to a page that nothing is known of.
    pub(super) fn fill_one(&mut self, page: PageId, write: bool) -> Mapped {
        let mapped = self.map(page, &ZEROS, write);
        if let Mapped::Now | Mapped::Before = mapped {
            self.figures.first_touches += 1;
            self.resident += 1;
            self.grow();
            self.touch(page, write);
            // What was there already may be anything.
            self.came(page, write || matches!(mapped, Mapped::Before));
        }
        mapped
    }

    /// A page comes back from the staging range: moved, or copied if it is only read and need not
    /// be written, so that its first write shows.
    fn return_staged(&mut self, page: PageId, slot: usize, fault: Fault) {
        let dirty = self.page(page).dirty;
        let moves = fault.write || dirty;
        if !moves && !self.has_room() {
            return self.waiting.push_back(fault);
        }
        // Making room may have let it go.
        if self.page(page).state != State::Staged(slot as u32) {
            return self.missing(fault);
        }
        let address = self.address(page);
        let mapped = match moves {
            true => self.move_back(slot, address),
            false => {
                let from = self.staging.contents(slot).as_ptr();
                self.uffd.copy(from, address, PAGE_BYTES, COPY_PROTECTED)
            }
        };
        if mapped.is_err() {
            // A mapping changes: the thread faults again if it still has to.
            return self.wake(address);
        }
        if !moves {
            self.staging.abandon(slot);
        }
        self.figures.returns += 1;
        self.resident += 1;
        let known = self.page(page);
        (known.again, known.writing) = (false, false);
        known.filled = Filled::No;
        self.seen(page);
        self.touch(page, fault.write);
        self.came(page, moves);
    }

    /// A page is to come from the slow memory.
    fn fetch(&mut self, page: PageId, fault: Fault) {
        if !self.has_room() {
            return self.waiting.push_back(fault);
        }
        self.figures.fetches += 1;
        self.resident += 1;
        self.page(page).state = State::Fetching;
        self.await_read(page, &fault, false);
        self.store.fetch(page);
        self.touch(page, fault.write);
        self.foresee(&fault);
    }

    /// Notes that a thread waits for the read of a page, which began before the fault if it was
    /// `foreseen`.
    pub(super) fn await_read(&mut self, page: PageId, fault: &Fault, foreseen: bool) {
        let fetch = Fetch {
            write: fault.write,
            seen: fault.seen,
            foreseen,
        };
        self.fetching.insert(page.0, fetch);
    }

    /// Takes the transfers that have ended, and returns whether there were any.
    pub(super) fn end_transfers(&mut self) -> bool {
        let mut any = false;
        while let Some(ended) = self.store.ended() {
            any = true;
            match ended {
                Ended::Fetched(page, buffer) => self.arrive(page, buffer),
                Ended::Unread(page) => self.unread(page),
                Ended::Put(page) => self.put(page),
                Ended::Unwritten(page) => self.unwritten(page),
            }
        }
        any
    }

    /// A page has come from the slow memory.
    pub(super) fn arrive(&mut self, page: PageId, buffer: Box<Buffer>) {
        if self.page(page).state == State::Coming {
            // Nothing is mapped by this, so it may be done while a change is followed.
            return self.hold(page, buffer);
        }
        if self.settling {
            return self.arrived.push_back((page, buffer));
        }
        let Some(fetch) = self.fetching.get(&page.0) else {
            return self.store.give_back(buffer);
        };
        let (write, seen) = (fetch.write, fetch.seen);
        let mapped = self.map(page, &buffer, write);
        if matches!(mapped, Mapped::NotYet) {
            return self.arrived.push_back((page, buffer));
        }
        self.store.give_back(buffer);
        self.fetching.remove(&page.0);
        self.figures.fetch_nanos += seen.elapsed().as_nanos() as u64;
        self.came(page, write || matches!(mapped, Mapped::Before));
    }

    /// A read has failed. If it was a prefetch, it is as if it had not been tried, and a thread
    /// that waits for it by now has the page read again.
    fn unread(&mut self, page: PageId) {
        if self.page(page).state == State::Coming {
            return self.not_prefetched(page);
        }
        let fetch = self.fetching.get_mut(&page.0);
        match fetch.is_some_and(|fetch| std::mem::take(&mut fetch.foreseen)) {
            true => self.store.fetch(page),
            false => self.lose(page),
        }
    }

    /// A page cannot be read: a thread that touches it must not go on with other contents.
    pub(super) fn lose(&mut self, page: PageId) {
        if self.settling {
            return self.lost.push_back(page);
        }
        if !self.uffd.has(feature::POISON) {
            crate::end::give_up("a page cannot be read from the slow memory");
        }
        let address = self.address(page);
        if let Mapped::NotYet = Mapped::of(self.uffd.poison(address, PAGE_BYTES)) {
            return self.lost.push_back(page);
        }
        self.wake(address);
        self.figures.read_errors += 1;
        self.fetching.remove(&page.0);
        self.policy.remove(page);
        self.resident -= 1;
        let known = self.page(page);
        (known.state, known.leaving) = (State::Lost, false);
    }

    /// Maps a page, protected from being written unless a thread waits to write it.
    pub(super) fn map(&mut self, page: PageId, contents: &Buffer, write: bool) -> Mapped {
        let address = self.address(page);
        let mode = if write { 0 } else { COPY_PROTECTED };
        let copied = self
            .uffd
            .copy(contents.0.as_ptr(), address, PAGE_BYTES, mode);
        let mapped = Mapped::of(copied);
        if matches!(mapped, Mapped::Before | Mapped::Never) {
            self.wake(address);
        }
        mapped
    }

    pub(super) fn wake(&self, address: u64) {
        // It fails for ranges that no program can have.
        let _ = self.uffd.wake(address, PAGE_BYTES);
    }
}

/// Whether a page is mapped at an address.
fn is_present(address: u64) -> bool {
    let start = Page::of(address).start();
    let mut present = 0;
    // SAFETY: the kernel writes a byte for the one page.
    let asked = unsafe { libc::mincore(start as *mut _, PAGE_BYTES as usize, &raw mut present) };
    asked == 0 && present & 1 == 1
}
