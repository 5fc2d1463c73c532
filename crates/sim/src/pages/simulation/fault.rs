//! Touch of a page, and the fault where the page is not in DRAM.

use terrace_device::{Class, Kind};
use terrace_policy::Thread as ThreadId;
use terrace_policy::prefetch::Outcome;
use terrace_policy::replacement::{Answer, PageId, Touch};

use super::super::settings::{Initial, Mapped, Prefetch, Work};
use super::super::store::Flags;
use super::super::threads::{State, Way};
use super::Simulation;
use super::traffic::{Departure, transfer_id, view};
use crate::intern::PageTable;
use crate::workload::Reference;

impl Simulation {
    /// Lets a thread touch a page, which it leaves with nothing but `zeros`, as far as these are
    /// dropped. Returns whether the thread may have left the running state.
    #[inline]
    pub(super) fn touch(
        &mut self,
        index: usize,
        touch: Reference,
        zeros: bool,
        pages: &PageTable,
    ) -> bool {
        if touch.is_write_back() {
            self.write_back(index, touch.page());
            return false;
        }
        let (page, write) = (touch.page(), touch.write());
        self.count_access(index, write);
        let flags = self.store.flags(page);
        if write {
            self.store.write(page);
        }
        let changes = zeros != flags.any(Flags::ZEROS);
        if changes {
            self.note_zeros(page, zeros, flags);
        }
        // A page that returns from the eviction buffer may already be dirty. Zeros need no write.
        let write = !zeros && (write || changes || flags.any(Flags::DIRTY));
        match self.replacement.touch(Touch { page, write }) {
            Answer::Hit if !flags.any(Flags::FETCHED) => return false,
            Answer::Hit => self.touch_fetched(index, page, flags, None, pages),
            // The page was in the prefetch cache.
            Answer::Miss { evicted } if flags.any(Flags::AHEAD) => {
                self.touch_fetched(index, page, flags, evicted, pages);
            }
            Answer::Miss { evicted } => self.fault(index, page, flags, evicted, pages),
        }
        true
    }

    /// Notes that a page holds zeros from now on, or no longer. If it was not stored to, it was
    /// changed by other means.
    #[cold]
    fn note_zeros(&mut self, page: PageId, zeros: bool, flags: Flags) {
        if flags.any(Flags::KNOWN) {
            self.store.write(page);
        }
        if !zeros {
            self.store.clear(page, Flags::ZEROS);
            return;
        }
        self.store.set(page, Flags::ZEROS);
        if self.replacement.contains(page) {
            self.replacement.cleaned(page);
        }
    }

    /// Ends the warm-up, if a touch or a line that is written back is the first after it.
    #[inline]
    pub(super) fn warm(&mut self, index: usize) {
        if self.counts.accesses + self.counts.line_writebacks == self.settings.warmup {
            self.end_warmup(index);
        }
    }

    /// Counts a touch.
    #[inline]
    pub(super) fn count_access(&mut self, index: usize, write: bool) {
        self.warm(index);
        self.counts.accesses += 1;
        self.counts.writes += u64::from(write);
    }

    #[cold]
    fn end_warmup(&mut self, index: usize) {
        self.marks.warm_at = self.threads[index].now();
        self.marks.warm = Some(self.reading());
        if self.control.is_some() {
            let now = self.held(self.marks.warm_at);
            self.control
                .iter_mut()
                .for_each(|control| control.renew(now));
        }
        if let Some(writes) = &mut self.writes {
            writes.renew();
        }
        if let Some(lines) = &mut self.lines
            && let Some(wear) = &mut lines.wear
        {
            wear.renew();
        }
    }

    /// Touches a page in DRAM that is being read or was fetched ahead.
    fn touch_fetched(
        &mut self,
        index: usize,
        page: PageId,
        flags: Flags,
        evicted: Option<PageId>,
        pages: &PageTable,
    ) {
        self.store.clear(page, Flags::SAVED.and(Flags::GIVEN));
        self.leave_prefetch_cache(page, flags);
        let is_coming = flags.any(Flags::FLIGHT);
        if !is_coming {
            self.forget_copy(page);
        }
        if self.settings.mapped == Mapped::AtArrival && !is_coming {
            if let Some(evicted) = evicted {
                self.evict_in_background(evicted, self.threads[index].now(), pages);
            }
        } else {
            self.fault_on_fetched(index, page, is_coming, evicted, pages);
        }
        let outcome = match is_coming {
            true => Outcome::Late,
            false => Outcome::Used,
        };
        if !flags.any(Flags::AHEAD) {
            return;
        }
        self.store.clear(page, Flags::AHEAD);
        self.story.count(outcome);
        let at = pages.location(page);
        if let Some(readahead) = &mut self.readahead {
            readahead.hit(at);
        }
        let mut view = view(&self.store, &*self.replacement, pages);
        if let Some(engine) = &mut self.engine {
            engine.advance_clock(ThreadId(index as u32), self.threads[index].made);
            engine.touched(at, outcome, &mut view);
        }
        if outcome == Outcome::Late {
            self.foresee(index, page, pages);
        }
        self.let_go(page, true, self.threads[index].now(), pages);
        let before = self.story.issued;
        self.issue(self.threads[index].now(), pages);
        self.will_map(index, before);
        if self.threads[index].to_map > 0 && self.threads[index].state == State::Running {
            self.threads[index].state = State::Joining;
        }
    }

    /// Starts the fault on a page that is being read, or is in DRAM and not mapped.
    fn fault_on_fetched(
        &mut self,
        index: usize,
        page: PageId,
        is_coming: bool,
        evicted: Option<PageId>,
        pages: &PageTable,
    ) {
        self.threads[index].faulted = self.threads[index].now();
        self.spend(index, Part::Trap, Way::Far);
        self.unmap(index, evicted, Way::Far, pages);
        if is_coming {
            self.join(index, page);
        } else if evicted.is_some() {
            // The thread waits for room, if there is none, and then maps the page.
            self.threads[index].state = State::Faulting(page, Way::Near);
        } else {
            self.map(index, Way::Far);
        }
    }

    /// Starts the fault on a page that is not in DRAM: the part before the device is asked.
    fn fault(
        &mut self,
        index: usize,
        page: PageId,
        flags: Flags,
        evicted: Option<PageId>,
        pages: &PageTable,
    ) {
        if let Some(control) = &mut self.control {
            control.came(page, !flags.any(Flags::KNOWN));
        }
        let held = self.leave_middle(page);
        let way = match flags.any(Flags::KNOWN) {
            false => self.begin(page, flags),
            true if flags.any(Flags::IN_DRAM) => Way::Near,
            true if held => Way::Middle,
            true if flags.any(Flags::ZERO) => Way::New,
            true if flags.are_zeros_of_tier() => Way::Zeros,
            true => Way::Far,
        };
        self.store.clear(page, Flags::SAVED);
        self.threads[index].faulted = self.threads[index].now();
        self.buffer.rescue(page, &mut self.store);
        if let Some(staging) = &mut self.staging {
            staging.rescue(page, &mut self.store);
        }
        self.spend(index, Part::Trap, way);
        self.unmap(index, evicted, way, pages);
        if flags.any(Flags::FLIGHT) {
            // The page was evicted while it was being read, and is still being read.
            self.join(index, page);
            return;
        }
        match way {
            Way::New => self.counts.first_touches += 1,
            Way::Near => self.counts.rescues += 1,
            Way::Far | Way::Middle | Way::Zeros => {
                self.counts.full_misses += 1;
                self.let_go(page, false, self.threads[index].now(), pages);
                if way != Way::Zeros {
                    self.store.set(page, Flags::FLIGHT);
                }
                self.spend(index, Part::Kernel, way);
                if self.engine.is_some() && !self.is_throttled() {
                    self.spend(index, Part::Prefetch, way);
                }
            }
        }
        self.threads[index].state = State::Faulting(page, way);
    }

    /// Notes what a page holds that was not touched so far, and returns where it is.
    fn begin(&mut self, page: PageId, flags: Flags) -> Way {
        let returned = flags.any(Flags::RETURNED);
        self.store.set(page, Flags::KNOWN);
        self.store.clear(page, Flags::RETURNED);
        let (way, unwritten) = match self.settings.initial {
            // A page of zeros that nothing stored to is as it began.
            Initial::Filled if self.store.flags(page).any(Flags::ZEROS) => (Way::New, Flags::ZERO),
            Initial::Filled => return Way::New,
            Initial::Tier if returned => return Way::New,
            Initial::Tier => {
                self.store.settle(page);
                let stored = self.store.flags(page).any(Flags::DIRTY);
                return match self.store.flags(page).are_zeros_of_tier() && !stored {
                    true => Way::Zeros,
                    false => Way::Far,
                };
            }
            Initial::Zero => (Way::New, Flags::ZERO),
            Initial::File => (Way::Far, Flags::FILE),
        };
        if !self.store.flags(page).any(Flags::DIRTY) {
            self.store.set(page, unwritten);
        }
        way
    }

    /// Unmaps the evicted page, if there is one.
    fn unmap(&mut self, index: usize, evicted: Option<PageId>, way: Way, pages: &PageTable) {
        if let Some(evicted) = evicted {
            self.spend(index, Part::Unmap, way);
            self.shoot_down(index);
            let departure = self.evict(evicted, pages);
            self.hand_over(index, departure, way);
            for begun in self.write_staying(self.threads[index].now()) {
                self.hand_over(index, begun, way);
            }
        }
    }

    /// Charges a thread with handing a page to the device.
    fn hand_over(&mut self, index: usize, page: Departure, way: Way) {
        match page {
            Departure::Clean => {}
            Departure::New => self.spend(index, Part::WriteOut, way),
            Departure::Again => self.spend(index, Part::WriteAgain, way),
        }
    }

    /// Continues a fault at the moment at which the device is asked.
    pub(super) fn fetch(&mut self, index: usize, page: PageId, way: Way, pages: &PageTable) {
        let now = self.threads[index].now();
        self.flush(now);
        if self.is_over_full() {
            self.threads[index].state = State::Evicting(page, way);
            return;
        }
        if !way.is_behind_dram() {
            self.arrive(index, way);
            return;
        }
        let is_read = way != Way::Zeros;
        if is_read {
            self.threads[index].state = State::Reading(page);
        }
        let before = self.story.issued;
        match self.settings.prefetch {
            // A page that is in memory is not swapped in.
            Prefetch::Readahead { .. } if way != Way::Middle => {
                self.read_around(page, is_read, now, pages);
                self.threads[index].read_ahead = self.story.issued - before;
            }
            _ => {
                match way {
                    Way::Middle => self.read_from_middle(page, Class::Demand, now),
                    Way::Far => self.read(page, Class::Demand, now),
                    Way::Near | Way::New | Way::Zeros => {}
                }
                self.foresee(index, page, pages);
                self.issue(now, pages);
            }
        }
        self.will_map(index, before);
        if !is_read {
            self.forget_copy(page);
            self.arrive(index, way);
        }
    }

    /// Has a thread map what it has caused to be fetched since `before` were issued, once it has
    /// waited for that.
    fn will_map(&mut self, index: usize, before: u64) {
        if self.settings.work == Work::Synchronous && self.settings.mapped == Mapped::AtArrival {
            self.threads[index].to_map += self.story.issued - before;
        }
    }

    /// Lets a thread wait for a page that is being read.
    fn join(&mut self, index: usize, page: PageId) {
        self.counts.partial_misses += 1;
        self.devices.promote(transfer_id(page, Kind::Read));
        self.threads[index].state = State::Reading(page);
    }

    fn map(&mut self, index: usize, way: Way) {
        self.spend(index, Part::Map, way);
        if self.settings.fault.shootdown_on_map {
            self.shoot_down(index);
        }
    }

    /// Completes the fault of a thread whose page has arrived.
    pub(super) fn arrive(&mut self, index: usize, way: Way) {
        if way != Way::Near {
            self.spend(index, Part::Copy, way);
        }
        self.map(index, way);
        for _ in 0..std::mem::take(&mut self.threads[index].read_ahead) {
            self.spend(index, Part::Readahead, way);
        }
        if way.is_behind_dram() {
            let thread = &self.threads[index];
            self.latencies.faults += 1;
            self.latencies.faults_ns += thread.now().saturating_sub(thread.faulted).0;
        }
        let joins =
            self.settings.work == Work::Synchronous && way.is_behind_dram() && self.fetching > 0;
        match joins {
            true => self.threads[index].state = State::Joining,
            false => self.go_on(index),
        }
    }

    /// Ends the fault of a thread, which maps what it waited for beside its own page.
    pub(super) fn go_on(&mut self, index: usize) {
        for _ in 0..std::mem::take(&mut self.threads[index].to_map) {
            self.spend(index, Part::Map, Way::Far);
        }
        self.threads[index].state = State::Running;
    }
}

/// Part of the cost of a fault.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Trap,
    Kernel,
    Copy,
    Map,
    Unmap,
    WriteOut,
    WriteAgain,
    Prefetch,
    Readahead,
}

impl Simulation {
    /// Charges a thread with the time of a part of a fault.
    pub(super) fn spend(&mut self, index: usize, part: Part, way: Way) {
        let (cost, times) = (&self.settings.fault, &mut self.times);
        let (time, total) = match part {
            Part::Trap => (cost.trap, &mut times.trap),
            Part::Kernel => (cost.kernel, &mut times.kernel),
            Part::Copy => (cost.copy, &mut times.copy),
            Part::Map => (cost.map, &mut times.map),
            Part::Unmap => (cost.unmap, &mut times.unmap),
            Part::WriteOut => (cost.write_out, &mut times.write_out),
            Part::WriteAgain => (cost.write_again, &mut times.write_out),
            Part::Prefetch => (cost.prefetch, &mut times.prefetch),
            Part::Readahead => (cost.readahead, &mut times.prefetch),
        };
        *total += time;
        let thread = &mut self.threads[index];
        // With DRAM for everything a first touch costs the same, except for the eviction.
        if way == Way::New && !matches!(part, Part::Unmap | Part::WriteOut | Part::WriteAgain) {
            thread.stall(time);
        } else {
            thread.lose(time);
        }
    }

    /// Returns the number of threads that run in the address space of a thread, including it.
    fn awake_beside(&self, index: usize) -> u32 {
        let own = &self.threads[index];
        let beside = self.programs[own.program].threads.iter().filter(|&&other| {
            let other = &self.threads[other];
            other.space == own.space && other.state.is_awake()
        });
        beside.count() as u32
    }

    /// Charges a thread with a TLB shoot-down on the other processors of its program.
    pub(super) fn shoot_down(&mut self, index: usize) {
        let threads = self.settings.threads;
        let threads = threads.unwrap_or_else(|| self.awake_beside(index));
        let time = self.settings.fault.shootdown.cost(threads);
        self.counts.shootdowns += 1;
        self.times.shootdown += time;
        self.threads[index].lose(time);
    }
}
