//! The machine in virtual time.
//!
//! Always the thread whose clock is furthest behind goes on, until its clock passes the next
//! thread's or the device's next completion; so every decision is made in the order of time, and
//! the same input gives the same result. Each thread has a processor of its own.

use std::sync::Arc;

use terrace_base::Nanos;
use terrace_device::{Class, Completion, Kind, Queue, Request};
use terrace_policy::prefetch::{self, Engine, Outcome};
use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};
use terrace_policy::{Fault, Location, Memory, PAGE_BYTES, Residence};

use super::buffer::EvictionBuffer;
use super::count::{Counts, Times};
use super::settings::{Inclusion, Prefetch, Settings, Work};
use super::store::{Flags, Store};
use super::threads::{NEVER, Next, State, Thread, Way};
use crate::intern::PageTable;
use crate::workload::{Batch, Reference};

/// Touches that are known of a program's threads before one of which nothing is known is taken
/// to sleep.
const LOOK_AHEAD: usize = 1 << 22;

/// A program, as far as the order of its threads is concerned.
#[derive(Clone, Copy, Default)]
struct Program {
    counts_instructions: bool,
    ended: bool,
    /// Touches that are known and were not made.
    known: usize,
    threads: u32,
}

/// One machine.
pub struct Simulation {
    settings: Settings,
    replacement: Box<dyn Replacement>,
    engine: Option<Engine>,
    store: Store,
    buffer: EvictionBuffer,
    device: Queue,
    threads: Vec<Thread>,
    programs: Vec<Program>,
    counts: Counts,
    times: Times,
    /// Prefetches that are being read.
    ahead: usize,
    marks: Marks,
}

/// Moments that the result is told relative to.
#[derive(Clone, Default)]
pub(super) struct Marks {
    /// Touches at which the first page had to go.
    pub(super) full_at: Option<u64>,
    /// What had been counted when the warm-up ended.
    pub(super) warm: Option<Warm>,
}

/// The state when the warm-up ended.
#[derive(Clone)]
pub(super) struct Warm {
    pub(super) counts: Counts,
    pub(super) times: Times,
    pub(super) slot_writes: Vec<u64>,
    /// The clock of each thread, and how much of it all-DRAM would not have needed.
    pub(super) clocks: Vec<(Nanos, Nanos)>,
}

/// What a predictor may see.
struct View<'a> {
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
        } else if self.replacement.contains(page)
            || flags.any(Flags::WAITING.and(Flags::WRITING).and(Flags::FLIGHT))
        {
            Residence::InMemory
        } else {
            Residence::InTier
        }
    }
}

impl Simulation {
    /// A machine on which programs run whose traces count instructions or not. `replacement` is
    /// made for `settings.dram_pages`.
    pub fn new(
        settings: Settings,
        replacement: Box<dyn Replacement>,
        counts_instructions: &[bool],
    ) -> Self {
        let engine = match settings.prefetch {
            Prefetch::Predictor(entry) => {
                Some(Engine::new((entry.make)(), prefetch::Settings::default()))
            }
            Prefetch::Off | Prefetch::Readahead { .. } => None,
        };
        let programs = counts_instructions.iter().map(|&counts_instructions| Program {
            counts_instructions,
            ..Program::default()
        });
        Self {
            replacement,
            engine,
            store: Store::default(),
            buffer: EvictionBuffer::new(settings.eviction_buffer),
            device: Queue::new(settings.tier.timing.clone()),
            threads: Vec::new(),
            programs: programs.collect(),
            counts: Counts::default(),
            times: Times::default(),
            ahead: 0,
            marks: Marks::default(),
            settings,
        }
    }

    /// More touches of a program, or none: it has ended. `owners` names the program of each
    /// thread.
    pub fn feed(&mut self, program: usize, batch: Option<&Arc<Batch>>, owners: &[usize]) {
        let Some(batch) = batch else {
            self.programs[program].ended = true;
            return;
        };
        let present = self.present(program);
        while self.threads.len() < owners.len() {
            let owner = owners[self.threads.len()];
            self.programs[owner].threads += 1;
            let pace = match self.programs[owner].counts_instructions {
                true => (self.settings.instruction_ps, 0),
                false => (0, self.settings.access.0 * 1000),
            };
            let start = if owner == program { present } else { Nanos::ZERO };
            self.threads.push(Thread::new(owner, start, pace));
        }
        let mut begin = 0;
        for run in &batch.runs {
            let thread = &mut self.threads[run.thread as usize];
            thread.feed(batch, begin, run.end);
            match thread.state {
                State::Parked => {
                    self.times.idle += thread.wait_until(present);
                    thread.state = State::Running;
                }
                State::Starving => thread.state = State::Running,
                _ => {}
            }
            begin = run.end;
        }
        self.programs[program].known += batch.references.len();
    }

    /// How far a program has come: the clock of that thread of it which is furthest behind.
    fn present(&self, program: usize) -> Nanos {
        let awake = |thread: &&Thread| thread.program == program && thread.state != State::Parked;
        let clocks = self.threads.iter().filter(awake).map(Thread::now);
        clocks.min().unwrap_or(Nanos::ZERO)
    }

    /// Runs until more must be known of a program, which is returned, or until all have ended.
    pub fn run(&mut self, pages: &PageTable) -> Option<usize> {
        self.store.cover(pages.len());
        loop {
            if let Some(program) = self.unknown_program() {
                return Some(program);
            }
            let completion = self.device.next_completion().unwrap_or(NEVER);
            let Some((index, horizon)) = self.turn() else {
                if completion == NEVER {
                    return None;
                }
                self.complete(pages);
                continue;
            };
            if completion <= self.threads[index].now() {
                self.complete(pages);
                continue;
            }
            if self.threads[index].state == State::Starving {
                let program = self.threads[index].program;
                if !self.programs[program].ended && self.programs[program].known < LOOK_AHEAD {
                    return Some(program);
                }
                self.threads[index].state = State::Parked;
                continue;
            }
            self.drive(index, horizon.min(completion), pages);
        }
    }

    /// A program of which nothing is known yet.
    fn unknown_program(&self) -> Option<usize> {
        self.programs.iter().position(|program| program.threads == 0 && !program.ended)
    }

    /// The thread whose clock is furthest behind of those that do not wait, and the clock of the
    /// next. Of equal ones the first goes first.
    fn turn(&self) -> Option<(usize, Nanos)> {
        let mut first: Option<(usize, Nanos)> = None;
        let mut horizon = NEVER;
        for (index, thread) in self.threads.iter().enumerate() {
            if !thread.state.is_ready() {
                continue;
            }
            let now = thread.now();
            match first {
                Some((_, least)) if now >= least => horizon = horizon.min(now),
                _ => {
                    horizon = first.map_or(NEVER, |(_, least)| least);
                    first = Some((index, now));
                }
            }
        }
        first.map(|(index, _)| (index, horizon))
    }

    /// Lets a thread go on until its clock passes `horizon`, or it waits.
    fn drive(&mut self, index: usize, horizon: Nanos, pages: &PageTable) {
        loop {
            let thread = &mut self.threads[index];
            match thread.state {
                State::Running => {}
                State::Faulting(page, way) if thread.now() <= horizon => {
                    self.fetch(index, page, way, pages);
                    return;
                }
                _ => return,
            }
            match thread.next(horizon) {
                Next::Touch(reference) => self.touch(index, reference, pages),
                Next::Later => return,
                Next::Unknown => thread.state = State::Starving,
            }
        }
    }

    #[inline]
    fn touch(&mut self, index: usize, reference: Reference, pages: &PageTable) {
        let (page, write) = (reference.page(), reference.write());
        if self.counts.accesses == self.settings.warmup {
            self.marks.warm = Some(self.state());
        }
        self.counts.accesses += 1;
        let flags = self.store.flags(page);
        if write {
            self.counts.writes += 1;
            self.store.set(page, Flags::DIRTY);
        }
        match self.replacement.touch(Touch { page, write }) {
            Answer::Hit if !flags.any(Flags::FLIGHT.and(Flags::AHEAD)) => {}
            Answer::Hit => self.touch_fetched(index, page, flags, pages),
            Answer::Miss { evicted } => self.fault(index, page, flags, evicted, pages),
        }
    }

    /// A touch of a page in DRAM that is on its way, or was fetched ahead.
    fn touch_fetched(&mut self, index: usize, page: PageId, flags: Flags, pages: &PageTable) {
        self.spend(index, Part::Trap, Way::Far);
        let outcome = if flags.any(Flags::FLIGHT) {
            self.join(index, page);
            Outcome::Late
        } else {
            self.spend(index, Part::Map, Way::Far);
            Outcome::Used
        };
        if !flags.any(Flags::AHEAD) {
            return;
        }
        self.store.clear(page, Flags::AHEAD);
        match outcome {
            Outcome::Used => self.counts.prefetches_used += 1,
            _ => self.counts.prefetches_late += 1,
        }
        let at = pages.location(page);
        let mut view = view(&self.store, &*self.replacement, pages);
        if let Some(engine) = &mut self.engine {
            engine.touched(at, outcome, &mut view);
        }
        if outcome == Outcome::Late {
            self.foresee(index, page, pages);
        }
        self.issue(self.threads[index].now(), pages);
    }

    /// A touch of a page that is not in DRAM: what comes before the device is asked.
    fn fault(
        &mut self,
        index: usize,
        page: PageId,
        flags: Flags,
        evicted: Option<PageId>,
        pages: &PageTable,
    ) {
        let way = if !flags.any(Flags::KNOWN) {
            self.counts.first_touches += 1;
            Way::New
        } else if flags.any(Flags::WAITING.and(Flags::WRITING)) {
            self.counts.rescues += 1;
            self.buffer.rescue(page, &mut self.store);
            Way::Near
        } else {
            Way::Far
        };
        self.store.set(page, Flags::KNOWN);
        self.spend(index, Part::Trap, way);
        if let Some(evicted) = evicted {
            self.spend(index, Part::Unmap, way);
            self.shoot_down(index);
            self.evict(evicted, pages);
        }
        if flags.any(Flags::FLIGHT) {
            // It was evicted on its way, and still is on its way.
            self.join(index, page);
            return;
        }
        if way == Way::Far {
            self.counts.full_misses += 1;
            self.store.set(page, Flags::FLIGHT);
            self.spend(index, Part::Kernel, way);
        }
        self.threads[index].state = State::Faulting(page, way);
    }

    /// The rest of a fault, at the moment at which the device is asked.
    fn fetch(&mut self, index: usize, page: PageId, way: Way, pages: &PageTable) {
        let now = self.threads[index].now();
        self.flush(now);
        if self.buffer.is_over_full() {
            self.threads[index].state = State::Evicting(page, way);
            return;
        }
        if way != Way::Far {
            self.arrive(index, way);
            return;
        }
        self.threads[index].state = State::Reading(page);
        match self.settings.prefetch {
            Prefetch::Readahead { cluster } => self.read_block(page, cluster, now, pages),
            Prefetch::Off | Prefetch::Predictor(_) => {
                self.read(page, Class::Demand, now);
                self.foresee(index, page, pages);
                self.issue(now, pages);
            }
        }
    }

    /// A thread waits for a page that is being read.
    fn join(&mut self, index: usize, page: PageId) {
        self.counts.partial_misses += 1;
        self.device.promote(read_id(page));
        self.threads[index].state = State::Reading(page);
    }

    /// A thread's page is there.
    fn arrive(&mut self, index: usize, way: Way) {
        if way != Way::Near {
            self.spend(index, Part::Copy, way);
        }
        self.spend(index, Part::Map, way);
        if self.settings.fault.shootdown_on_map {
            self.shoot_down(index);
        }
        let joins = self.settings.work == Work::Synchronous && way == Way::Far && self.ahead > 0;
        self.threads[index].state = if joins { State::Joining } else { State::Running };
    }

    /// Reads the block of the tier around a page, in its order, as the kernel does.
    fn read_block(&mut self, page: PageId, cluster: u32, now: Nanos, pages: &PageTable) {
        for neighbour in self.store.neighbours(page, cluster) {
            if neighbour == page {
                self.read(page, Class::Demand, now);
            } else if view(&self.store, &*self.replacement, pages)
                .residence(pages.location(neighbour))
                == Residence::InTier
                && !self.store.flags(neighbour).any(Flags::AHEAD)
                && self.buffer.has_room()
            {
                self.read_ahead(neighbour, Class::Demand, now, pages);
            }
        }
    }

    /// Tells the predictor of a fault on a page that lay in the tier.
    fn foresee(&mut self, index: usize, page: PageId, pages: &PageTable) {
        let Some(engine) = &mut self.engine else {
            return;
        };
        let fault = Fault {
            thread: terrace_policy::Thread(index as u32),
            at: pages.location(page),
            offset: 0,
        };
        engine.fault(&fault, &mut view(&self.store, &*self.replacement, pages));
        let cost = self.settings.fault.prefetch;
        self.threads[index].stall(cost);
        self.threads[index].penalty += cost;
        self.times.prefetch += cost;
    }

    /// Fetches ahead what the predictor hopes for, as long as the device has nothing else to do,
    /// or, if faults wait for it anyway, all of it.
    fn issue(&mut self, now: Nanos, pages: &PageTable) {
        let all = self.settings.work == Work::Synchronous;
        while self.buffer.has_room() && (all || self.device.idle() > 0) {
            let Some(engine) = &mut self.engine else {
                return;
            };
            let next = engine.next(&mut view(&self.store, &*self.replacement, pages));
            let Some(page) = next.and_then(|at| pages.find(at)) else {
                return;
            };
            self.read_ahead(page, Class::Prefetch, now, pages);
        }
    }

    fn read_ahead(&mut self, page: PageId, class: Class, now: Nanos, pages: &PageTable) {
        self.counts.prefetches += 1;
        self.ahead += 1;
        self.store.set(page, Flags::AHEAD);
        self.read(page, class, now);
        if let Some(evicted) = self.replacement.prefetch(page) {
            self.evict(evicted, pages);
            self.flush(now);
        }
    }

    fn read(&mut self, page: PageId, class: Class, now: Nanos) {
        self.counts.reads += 1;
        self.store.set(page, Flags::FLIGHT);
        let request = Request {
            id: read_id(page),
            kind: Kind::Read,
            class,
            bytes: PAGE_BYTES,
            slot: self.store.place(page),
        };
        self.device.submit(now, request);
    }

    /// A page leaves DRAM; it has to be written where the tier has no copy of it.
    fn evict(&mut self, page: PageId, pages: &PageTable) {
        self.counts.evictions += 1;
        self.marks.full_at.get_or_insert(self.counts.accesses);
        let flags = self.store.flags(page);
        if flags.any(Flags::AHEAD) {
            self.store.clear(page, Flags::AHEAD);
            self.counts.prefetches_wasted += 1;
            if let Some(engine) = &mut self.engine {
                engine.evicted(pages.location(page));
            }
        }
        if flags.any(Flags::DIRTY) || !flags.any(Flags::TIER) {
            self.buffer.push(page, &mut self.store);
        }
    }

    /// Writes pages of the eviction buffer, if that is due or somebody waits for it.
    fn flush(&mut self, now: Nanos) {
        let urgent = self.buffer.is_over_full();
        while let Some(page) = self.buffer.next_to_write(urgent, &mut self.store) {
            self.counts.writebacks += 1;
            let request = Request {
                id: write_id(page),
                kind: Kind::Write,
                class: Class::Background,
                bytes: PAGE_BYTES,
                slot: self.store.write_out(page),
            };
            self.device.submit(now, request);
        }
    }

    /// Takes the device's next completion.
    fn complete(&mut self, pages: &PageTable) {
        let Some(at) = self.device.next_completion() else {
            return;
        };
        let Some(Completion { request, .. }) = self.device.complete(at) else {
            return;
        };
        let page = PageId(request.id as u32);
        match request.kind {
            Kind::Write => {
                self.buffer.written(page, &mut self.store);
                self.flush(at);
                self.let_evict(at);
            }
            Kind::Read => self.read_completed(page, at),
        }
        if !self.is_over() {
            self.issue(at, pages);
        }
    }

    /// Threads that waited for room go on, those that came first first, as far as there is room.
    fn let_evict(&mut self, at: Nanos) {
        for index in 0..self.threads.len() {
            if self.buffer.is_over_full() {
                return;
            }
            let thread = &mut self.threads[index];
            if let State::Evicting(page, way) = thread.state {
                let waited = thread.wait_until(at);
                thread.penalty += waited;
                self.times.evict += waited;
                thread.state = State::Faulting(page, way);
            }
        }
    }

    /// A page has been read: whoever waits for it goes on.
    fn read_completed(&mut self, page: PageId, at: Nanos) {
        self.store.clear(page, Flags::FLIGHT);
        if self.settings.inclusion == Inclusion::Exclusive && self.replacement.contains(page) {
            self.store.give_up(page);
        }
        for index in 0..self.threads.len() {
            let thread = &mut self.threads[index];
            if thread.state == State::Reading(page) {
                let waited = thread.wait_until(at);
                thread.penalty += waited;
                self.times.read += waited;
                self.arrive(index, Way::Far);
            }
        }
    }
}

/// A part of what a fault costs.
#[derive(Clone, Copy)]
enum Part {
    Trap,
    Kernel,
    Copy,
    Map,
    Unmap,
}

impl Simulation {
    /// A thread spends time on a part of a fault.
    fn spend(&mut self, index: usize, part: Part, way: Way) {
        let (cost, times) = (&self.settings.fault, &mut self.times);
        let (time, total) = match part {
            Part::Trap => (cost.trap, &mut times.trap),
            Part::Kernel => (cost.kernel, &mut times.kernel),
            Part::Copy => (cost.copy, &mut times.copy),
            Part::Map => (cost.map, &mut times.map),
            Part::Unmap => (cost.unmap, &mut times.unmap),
        };
        *total += time;
        let thread = &mut self.threads[index];
        thread.stall(time);
        // A first touch costs the same where everything is DRAM, but for what it evicts.
        if way != Way::New || matches!(part, Part::Unmap) {
            thread.penalty += time;
        }
    }

    /// A thread tells the other processors of its program of a change to the page table.
    fn shoot_down(&mut self, index: usize) {
        let program = self.programs[self.threads[index].program];
        let threads = self.settings.threads.unwrap_or(program.threads);
        let time = self.settings.fault.shootdown.cost(threads);
        self.counts.shootdowns += 1;
        self.times.shootdown += time;
        let thread = &mut self.threads[index];
        thread.stall(time);
        thread.penalty += time;
    }
}

/// How the device knows the read of a page.
fn read_id(page: PageId) -> u64 {
    u64::from(page.0)
}

/// How the device knows the write of a page.
fn write_id(page: PageId) -> u64 {
    1 << 32 | u64::from(page.0)
}

/// What a predictor may see of a machine.
fn view<'a>(
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
