//! Transfers of pages between DRAM and the tier: reads on demand and ahead, evictions, and writes.

use terrace_base::Nanos;
use terrace_device::{Class, Kind, Request};
use terrace_policy::replacement::{PageId, Replacement};
use terrace_policy::{Fault, Location, Memory, PAGE_BYTES, Residence, Slot};

use super::super::settings::{Inclusion, Work};
use super::super::store::{Flags, Store};
use super::super::threads::{State, Thread, Way};
use super::Simulation;
use crate::intern::PageTable;

/// Work due for a page that leaves DRAM.
#[derive(Clone, Copy)]
pub(super) enum Departure {
    /// None: the tier has an up-to-date copy.
    Clean,
    /// A write to a new place: the page has no copy in the tier, or its copy was dropped.
    New,
    /// A write to its old place: the copy in the tier is out of date.
    Again,
}

impl Simulation {
    /// Whether a fault causes no prefetches, as some are on their way.
    pub(super) fn is_throttled(&self) -> bool {
        self.settings.work == Work::Single && self.fetching > 0
    }

    /// Reports a fault on a page in the tier to the predictor.
    pub(super) fn foresee(&mut self, index: usize, page: PageId, pages: &PageTable) {
        if self.is_throttled() {
            return;
        }
        let Some(engine) = &mut self.engine else {
            return;
        };
        let fault = Fault {
            thread: terrace_policy::Thread(index as u32),
            at: pages.location(page),
            offset: 0,
        };
        engine.advance_clock(fault.thread, self.threads[index].made);
        engine.fault(&fault, &mut view(&self.store, &*self.replacement, pages));
    }

    /// Fetches ahead the pages that the predictor proposes while the device is idle. Fetches all of
    /// them if faults wait for them anyway, if no others are fetched until they are there, and if
    /// the engine has no queue of its own: its fetches are then demand requests, whatever else
    /// waits (CORP, Fedorov 2016, 5.5.2).
    pub(super) fn issue(&mut self, now: Nanos, pages: &PageTable) {
        if self.is_throttled() {
            return;
        }
        let Some(engine) = &self.engine else {
            return;
        };
        let direct = engine.is_direct();
        let all = direct || self.settings.work != Work::Asynchronous;
        let class = match direct {
            true => Class::Demand,
            false => Class::Prefetch,
        };
        // Fetching ahead needs room in the buffer even where it does not wait for the device;
        // faults that wait for room take precedence.
        let waits = |thread: &Thread| matches!(thread.state, State::Evicting(..));
        if self.threads.iter().any(waits) {
            return;
        }
        while !self.is_over_full() && (all || self.has_idle_device()) {
            let Some(page) = self.next_hint(all, pages) else {
                return;
            };
            // The engine may propose a page again that it suspects to be gone.
            if !self.store.flags(page).any(Flags::AHEAD.and(Flags::FLIGHT)) {
                self.read_ahead(page, class, now, pages);
            }
        }
    }

    /// Returns whether a device of the tier has an idle channel. A page of the middle memory is
    /// fetched ahead in its turn among the others.
    fn has_idle_device(&self) -> bool {
        let devices = self.settings.tier.devices.max(1) as usize;
        (0..devices).any(|device| self.devices.is_idle(device))
    }

    /// Returns the next page to fetch ahead: of any device if `any`, else of an idle one.
    fn next_hint(&mut self, any: bool, pages: &PageTable) -> Option<PageId> {
        let engine = self.engine.as_mut()?;
        let (store, devices, middle) = (&self.store, &self.devices, &self.middle);
        let mut memory = view(store, &*self.replacement, pages);
        let at = if any || self.settings.tier.devices <= 1 {
            engine.next(&mut memory)
        } else {
            engine.next_of(&mut memory, |at| {
                let middle = middle.as_ref();
                let device = pages.find(at).and_then(|page| {
                    let middle = middle.filter(|middle| middle.holds(page));
                    middle.map_or_else(|| store.device(page), |middle| Some(middle.device()))
                });
                device.is_none_or(|device| devices.is_idle(device))
            })
        };
        pages.find(at?)
    }

    pub(super) fn read_ahead(&mut self, page: PageId, class: Class, now: Nanos, pages: &PageTable) {
        self.story.issued += 1;
        self.timeline.fetched(&self.counts, &self.story, now);
        self.store.set(page, Flags::AHEAD);
        if let Some(control) = &mut self.control {
            control.came(page, false);
        }
        if self.store.flags(page).are_zeros_of_tier() {
            self.forget_copy(page);
        } else {
            self.fetching += 1;
            self.store.set(page, Flags::FETCH);
            match self.leave_middle(page) {
                true => self.read_from_middle(page, class, now),
                false => self.read(page, class, now),
            }
        }
        if let Some(cache) = &mut self.prefetch_cache {
            if let Some(dropped) = cache.prefetch(page) {
                self.counts.evictions += 1;
                self.counts.background_evictions += 1;
                self.waste(dropped, pages);
            }
        } else if let Some(evicted) = self.replacement.prefetch(page) {
            self.evict_in_background(evicted, now, pages);
        }
    }

    /// Evicts a page, and has written what the policy wants written, which delays no thread.
    pub(super) fn evict_in_background(&mut self, page: PageId, now: Nanos, pages: &PageTable) {
        self.counts.background_evictions += 1;
        self.evict(page, pages);
        self.write_staying(now);
        self.flush(now);
    }

    pub(super) fn read(&mut self, page: PageId, class: Class, now: Nanos) {
        self.counts.reads += 1;
        self.store.set(page, Flags::FLIGHT);
        self.submit(page, Kind::Read, class, now);
    }

    /// Writes a page to the tier that has left DRAM as if nothing of it was written.
    pub(super) fn write_late(&mut self, page: PageId, now: Nanos) {
        self.store.write(page);
        self.write_unbuffered(transfer_id(page, Kind::Write) | LATE, page, now);
    }

    /// Writes a page to the tier that has left DRAM.
    pub(super) fn write_unbuffered(&mut self, id: u64, page: PageId, now: Nanos) {
        self.counts.writebacks += 1;
        self.store.write_out(page);
        self.store.set(page, Flags::SAVED);
        let request = Request {
            id,
            ..self.transfer(page, Kind::Write, Class::Background)
        };
        self.request(page, request, now);
    }

    /// Submits a transfer of a page to its device.
    fn submit(&mut self, page: PageId, kind: Kind, class: Class, now: Nanos) {
        self.request(page, self.transfer(page, kind, class), now);
    }

    /// Returns a transfer of a page.
    pub(super) fn transfer(&self, page: PageId, kind: Kind, class: Class) -> Request {
        Request {
            id: transfer_id(page, kind),
            kind,
            class,
            place: self.store.slot(page).unwrap_or(0),
            bytes: PAGE_BYTES,
        }
    }

    pub(super) fn request(&mut self, page: PageId, request: Request, now: Nanos) {
        let device = self.store.device(page).unwrap_or(0);
        self.devices.submit(device, now, request);
    }

    /// Evicts a page from DRAM.
    pub(super) fn evict(&mut self, page: PageId, pages: &PageTable) -> Departure {
        self.counts.evictions += 1;
        self.marks.full_at.get_or_insert(self.counts.accesses);
        if let Some(next) = self.replacement.next_victim() {
            self.store.expect_leave(next);
        }
        self.drop_untouched(page, pages);
        let Some(staging) = &mut self.staging else {
            return self.leave(page);
        };
        staging.push(page, &mut self.store);
        let due = staging.due();
        due.map_or(Departure::Clean, |due| self.leave(due))
    }

    /// Notes that a page leaves which may have been fetched and not touched.
    pub(super) fn drop_untouched(&mut self, page: PageId, pages: &PageTable) {
        let flags = self.store.flags(page);
        if flags.any(Flags::AHEAD) {
            self.waste(page, pages);
        }
        if flags.any(Flags::GIVEN) {
            self.store.clear(page, Flags::GIVEN);
        }
    }

    /// Has a page written that leaves DRAM, if the tier has no copy that is up to date.
    pub(super) fn leave(&mut self, page: PageId) -> Departure {
        let departure = self.departure(page);
        if !matches!(departure, Departure::Clean) {
            self.buffer.push(page, &mut self.store);
        }
        departure
    }

    /// Returns the work that is due for a page that leaves DRAM.
    pub(super) fn departure(&mut self, page: PageId) -> Departure {
        let flags = self.store.flags(page);
        if self.goes_to_middle(flags) {
            return Departure::New;
        }
        if flags.need_no_write() {
            if let Some(writes) = &mut self.writes {
                writes.leave(page, false);
            }
            return Departure::Clean;
        }
        if flags.any(Flags::ZEROS) {
            self.drop_zeros(page);
            return Departure::Clean;
        }
        self.store.set(page, Flags::SAVED);
        self.store.expect_write(page);
        match flags.any(Flags::TIER) {
            true => Departure::Again,
            false => Departure::New,
        }
    }

    /// Lets a page of zeros leave DRAM. It has a place in the tier, where nothing is written.
    fn drop_zeros(&mut self, page: PageId) {
        self.counts.zeros_dropped += 1;
        self.store.settle(page);
        self.store.clear(page, Flags::DIRTY);
        if let Some(writes) = &mut self.writes {
            writes.leave(page, true);
        }
    }

    /// Has the tier drop its copy of a page that has come to DRAM, where it keeps none. A swap area
    /// keeps none of a page that comes for a store, unless it is being written: the page gets
    /// another place when it leaves (`should_try_to_free_swap` of mm/memory.c).
    pub(super) fn forget_copy(&mut self, page: PageId) {
        let flags = self.store.flags(page);
        if self.settings.inclusion == Inclusion::Exclusive {
            self.store.give_up(page);
        } else if self.has_slots && flags.any(Flags::DIRTY) && !flags.any(Flags::WRITING) {
            self.store.vacate(page);
        }
    }

    /// Reports to the eviction policy the first touch of a page that came in, and evicts the pages
    /// that should leave. They are unmapped on a processor of the fetches, and delay no thread.
    pub(super) fn let_go(&mut self, came: PageId, foreseen: bool, now: Nanos, pages: &PageTable) {
        let Some(eviction) = &mut self.eviction else {
            return;
        };
        let free = self
            .settings
            .dram_pages
            .saturating_sub(self.replacement.resident() + self.settings.staging);
        let before = self.counts.let_go;
        let mut leaving = std::mem::take(&mut self.leaving);
        eviction.arrived(pages.location(came), foreseen, free as u64, &mut leaving);
        for page in leaving.drain(..).filter_map(|at| pages.find(at)) {
            let coming = self.store.flags(page).any(Flags::FLIGHT.and(Flags::AHEAD));
            if coming || page == came || !self.replacement.contains(page) {
                continue;
            }
            self.replacement.remove(page);
            self.counts.let_go += 1;
            self.counts.background_evictions += 1;
            self.evict(page, pages);
        }
        if self.counts.let_go > before {
            self.flush(now);
        }
        self.leaving = leaving;
    }

    /// Drops a fetched page that was never touched. A page of the prefetch cache need not be
    /// written: the tier still has its copy.
    pub(super) fn waste(&mut self, page: PageId, pages: &PageTable) {
        self.store.clear(page, Flags::AHEAD);
        self.story.wasted += 1;
        if let Some(engine) = &mut self.engine {
            engine.evicted(pages.location(page));
        }
    }

    /// Moves a touched page that may be in the prefetch cache to DRAM proper.
    pub(super) fn leave_prefetch_cache(&mut self, page: PageId, flags: Flags) {
        let Some(cache) = &mut self.prefetch_cache else {
            return;
        };
        if cache.contains(page) {
            cache.remove(page);
            if self.settings.inclusion == Inclusion::Exclusive && !flags.any(Flags::FLIGHT) {
                self.store.give_up(page);
            }
        }
    }

    /// Starts writes of the eviction buffer, if a flush is due or a thread waits for one.
    pub(super) fn flush(&mut self, now: Nanos) {
        let urgent = self.staging.is_some() || self.buffer.is_over_full();
        while !self.is_middle_blocked()
            && let Some(page) = self.buffer.next_to_write(urgent, &mut self.store)
        {
            if self.enter_middle(page, now) {
                continue;
            }
            let changed = self.store.flags(page).any(Flags::DIRTY);
            self.write(page, now);
            self.tell_schemes(page, changed);
        }
    }

    /// Tells write schemes of a page that is written as it leaves DRAM.
    pub(super) fn tell_schemes(&mut self, page: PageId, changed: bool) {
        if let Some(writes) = &mut self.writes {
            let has_copy = self.settings.inclusion == Inclusion::Inclusive;
            writes.leave(page, changed || !has_copy);
        }
    }

    /// Starts the writes of dirty pages that stay in DRAM, which the policy asks for; returns what
    /// they are. A page that is still being written is written when it leaves, and so are all if
    /// the tier holds no page of DRAM.
    #[inline]
    pub(super) fn write_staying(&mut self, now: Nanos) -> Vec<Departure> {
        match self.has_writes {
            true => self.write_asked(now),
            false => Vec::new(),
        }
    }

    /// Does the same for a policy that asks.
    fn write_asked(&mut self, now: Nanos) -> Vec<Departure> {
        let mut begun = Vec::new();
        for page in self.replacement.writes() {
            if !self.is_written_staying(page) {
                continue;
            }
            begun.push(match self.store.flags(page).any(Flags::TIER) {
                true => Departure::Again,
                false => Departure::New,
            });
            self.buffer.begin(page, &mut self.store);
            self.write(page, now);
            if let Some(writes) = &mut self.writes {
                writes.write_back(page);
            }
        }
        begun
    }

    /// Returns whether a page that the policy wants written, and that stays, is to be.
    pub(super) fn is_written_staying(&self, page: PageId) -> bool {
        let flags = self.store.flags(page);
        let is_due = flags.any(Flags::DIRTY) && !flags.any(Flags::IN_DRAM);
        is_due && self.settings.inclusion == Inclusion::Inclusive
    }

    /// Writes a page of the eviction buffer to its device.
    fn write(&mut self, page: PageId, now: Nanos) {
        self.counts.writebacks += 1;
        self.store.write_out(page);
        self.submit(page, Kind::Write, Class::Background, now);
    }

    /// Handles the next completion of the devices.
    pub(super) fn complete(&mut self, pages: &PageTable) {
        let Some(completion) = self.devices.complete() else {
            return;
        };
        let (page, at) = (PageId(completion.request.id as u32), completion.finished);
        match completion.request.kind {
            Kind::Write if completion.request.id & LATE != 0 => {}
            Kind::Write if completion.request.id & GOING_ON != 0 => self.went_on(at),
            Kind::Write if completion.request.id & BESIDE != 0 => {
                self.store.clear(page, Flags::WRITING);
                self.flush(at);
                self.let_evict(at);
            }
            Kind::Write => {
                self.buffer.written(page, &mut self.store);
                self.flush(at);
                self.let_evict(at);
            }
            Kind::Read => {
                let latency = at.saturating_sub(completion.submitted);
                self.latencies.device_reads += 1;
                self.latencies.device_reads_ns += latency.0;
                self.read_completed(page, at);
            }
        }
        if !self.is_over() {
            self.issue(at, pages);
        }
    }

    /// Returns whether evicting threads have to wait.
    pub(super) fn is_over_full(&self) -> bool {
        self.buffer.is_over_full() || self.is_middle_blocked()
    }

    /// Resumes threads that waited for room, in order of their numbers, as long as there is room.
    pub(super) fn let_evict(&mut self, at: Nanos) {
        for index in 0..self.threads.len() {
            if self.is_over_full() {
                return;
            }
            let thread = &mut self.threads[index];
            if let State::Evicting(page, way) = thread.state {
                self.times.evict += thread.lose_until(at);
                thread.state = State::Faulting(page, way);
            }
        }
    }

    /// Handles the end of a read of a page: threads that wait for it resume.
    fn read_completed(&mut self, page: PageId, at: Nanos) {
        self.store.clear(page, Flags::FLIGHT);
        if self.store.flags(page).any(Flags::FETCH) {
            self.store.clear(page, Flags::FETCH);
            self.fetching -= 1;
        }
        if self.replacement.contains(page) {
            self.forget_copy(page);
        }
        for index in 0..self.threads.len() {
            let thread = &mut self.threads[index];
            if thread.state == State::Reading(page) {
                self.times.read += thread.lose_until(at);
                self.arrive(index, Way::Far);
            } else if thread.state == State::Joining && self.fetching == 0 {
                self.times.prefetch += thread.lose_until(at);
                self.go_on(index);
            }
        }
    }
}

/// Bit of the identifier of a write for which no page waits in the eviction buffer.
const LATE: u64 = 1 << 33;

/// Bit of the identifier of the write of a page that goes on from the middle memory to the tier.
pub(super) const GOING_ON: u64 = 1 << 34;

/// Bit of the identifier of the write of a page that control has reclaimed, or of a page that stays
/// and is written by the way: it takes no room of the eviction buffer.
pub(super) const BESIDE: u64 = 1 << 35;

/// Returns the identifier of a transfer of a page on its device.
pub(super) fn transfer_id(page: PageId, kind: Kind) -> u64 {
    u64::from(kind == Kind::Write) << 32 | u64::from(page.0)
}

/// View of the machine's memory for a predictor.
pub(super) struct View<'a> {
    store: &'a Store,
    replacement: &'a dyn Replacement,
    pages: &'a PageTable,
}

impl Memory for View<'_> {
    fn residence(&mut self, at: Location) -> Residence {
        let Some(page) = self.pages.find(at) else {
            return Residence::Nowhere;
        };
        let flags = self.store.flags(page);
        if !flags.any(Flags::KNOWN) {
            Residence::Nowhere
        } else if flags.any(Flags::AHEAD) {
            Residence::InTier
        } else if self.replacement.contains(page) || flags.any(Flags::IN_DRAM.and(Flags::FLIGHT)) {
            Residence::InMemory
        } else if flags.any(Flags::ZERO) {
            Residence::Nowhere
        } else {
            Residence::InTier
        }
    }

    fn slot(&mut self, at: Location) -> Option<Slot> {
        let page = self.pages.find(at)?;
        self.store.slot(page).map(Slot)
    }

    fn page_in(&mut self, slot: Slot) -> Option<Location> {
        let page = self.store.page_in(slot.0)?;
        Some(self.pages.location(page))
    }
}

/// Returns the view of a machine's memory for a predictor.
pub(super) fn view<'a>(
    store: &'a Store,
    replacement: &'a dyn Replacement,
    pages: &'a PageTable,
) -> View<'a> {
    View {
        store,
        replacement,
        pages,
    }
}
