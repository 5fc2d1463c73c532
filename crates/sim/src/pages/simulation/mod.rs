//! The machine in virtual time.
//!
//! The thread with the earliest clock runs until its clock passes that of the next thread or the
//! next completion of a device; so every decision is made in the order of time, and the same input
//! gives the same result. Each thread has a processor of its own.

mod bypass;
mod control;
mod discard;
mod fault;
mod figures;
mod middle;
mod order;
mod readahead;
mod traffic;
mod write_back;

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use terrace_base::{Error, Nanos, Result};
use terrace_device::Devices;
use terrace_policy::Location;
use terrace_policy::eviction::Eviction;
use terrace_policy::prefetch::{Engine, LifeStory};
use terrace_policy::replacement::fifo::Fifo;
use terrace_policy::replacement::{PageId, Replacement};
use terrace_trace::order::Point;

use self::readahead::Readahead;
use super::buffer::EvictionBuffer;
use super::control::Control;
use super::count::{Counts, Latencies, Times};
use super::lines::Lines;
use super::middle::MiddlePages;
use super::outcome::{Clock, Reading};
use super::settings::{Around, PageMachine, Prefetch};
use super::staging::Staging;
use super::store::Store;
use super::threads::{Mark, NEVER, State, Thread, WINDOW};
use super::timeline::{self, Timeline};
use super::writes::Writes;
use crate::intern::PageTable;
use crate::workload::{Batch, Reference, Run};

/// Known touches of a program's threads after which a thread without known touches is taken to
/// sleep.
const LOOK_AHEAD: usize = 1 << 22;

/// State of a program that determines the order of its threads.
#[derive(Clone, Default)]
struct Program {
    counts_instructions: bool,
    ended: bool,
    /// Indices of its threads in the machine.
    threads: Vec<usize>,
    /// Number of known touches of its trace.
    known_to: u64,
    /// Thread of the last known touch.
    last: Option<usize>,
    /// Whether its trace says how threads are ordered.
    ordered: bool,
    /// Points at which threads are created that have no known run yet.
    created: FxHashSet<Point>,
}

/// Simulation of one machine.
pub struct Simulation {
    settings: PageMachine,
    replacement: Box<dyn Replacement>,
    eviction: Option<Box<dyn Eviction>>,
    /// Buffer for the pages that leave early.
    leaving: Vec<Location>,
    /// Whether the replacement policy has pages written that stay in DRAM.
    has_writes: bool,
    engine: Option<Engine>,
    readahead: Option<Readahead>,
    /// Whether readahead is by places of a swap area.
    has_slots: bool,
    /// Most pages of the replacement policy.
    room: usize,
    /// What decides how much DRAM is held, if something does.
    control: Option<Box<Control>>,
    /// Fetched pages that were not touched, if a part of DRAM is kept for them.
    prefetch_cache: Option<Fifo>,
    store: Store,
    buffer: EvictionBuffer,
    /// Pages that have left and are still in DRAM, if a part of it is kept for them.
    staging: Option<Staging>,
    devices: Devices,
    /// Pages between DRAM and the tier, if there is a memory for them.
    middle: Option<MiddlePages>,
    threads: Vec<Thread>,
    programs: Vec<Program>,
    counts: Counts,
    /// Fates of pages that were fetched ahead, and of the other pages of a block of readahead.
    story: LifeStory,
    times: Times,
    latencies: Latencies,
    /// Places in traces that were named so far.
    named: u64,
    /// Named ends of runs; `None` for runs that are not complete.
    passed: FxHashMap<Mark, Option<Clock>>,
    /// Prefetches that are being read.
    fetching: usize,
    marks: Marks,
    timeline: Timeline,
    /// What write schemes would write, if any was asked about.
    writes: Option<Box<Writes>>,
    /// Whether pages of zeros are not written.
    drops_zeros: bool,
    /// What decides over pages, if the tier serves lines by itself.
    lines: Option<Box<Lines>>,
}

/// Moments to which the results refer.
#[derive(Default)]
pub(super) struct Marks {
    /// Touches after which the first page had to go.
    pub(super) full_at: Option<u64>,
    /// Clock of the thread that ended the warm-up.
    pub(super) warm_at: Nanos,
    /// Counters at the end of the warm-up.
    pub(super) warm: Option<Reading>,
}

impl Simulation {
    /// Makes a machine for programs; `counts_instructions` tells for each whether its trace counts
    /// instructions. `replacement` is made for [`PageMachine::main_pages`], `eviction` and `engine`
    /// of their settings.
    pub fn new(
        settings: PageMachine,
        replacement: Box<dyn Replacement>,
        eviction: Option<Box<dyn Eviction>>,
        engine: Option<Engine>,
        counts_instructions: &[bool],
    ) -> Self {
        let programs = counts_instructions.iter();
        let programs = programs.map(|&counts_instructions| Program {
            counts_instructions,
            ..Program::default()
        });
        let mut devices = Devices::new(settings.tier.timing, settings.tier.devices);
        let middle = settings
            .middle
            .as_ref()
            .map(|middle| MiddlePages::new(middle.pages, devices.add(middle.timing)));
        let has_slots = matches!(
            settings.prefetch,
            Prefetch::Readahead {
                around: Around::Slots,
                ..
            }
        );
        Self {
            has_writes: replacement.has_writes(),
            replacement,
            eviction,
            leaving: Vec::new(),
            engine,
            readahead: Readahead::of(&settings.prefetch),
            has_slots,
            room: settings.dram_pages - settings.prefetch_cache - settings.staging,
            control: None,
            store: Store::new(settings.tier.devices, has_slots),
            prefetch_cache: (settings.prefetch_cache > 0)
                .then(|| Fifo::new(settings.prefetch_cache)),
            // Of staged pages, those in the older half are written.
            buffer: EvictionBuffer::new(match settings.staging {
                0 => settings.eviction_buffer,
                slots => slots / 2,
            }),
            staging: Staging::new(settings.staging),
            devices,
            middle,
            threads: Vec::new(),
            programs: programs.collect(),
            counts: Counts::default(),
            story: LifeStory::default(),
            times: Times::default(),
            latencies: Latencies::default(),
            named: 0,
            passed: FxHashMap::default(),
            fetching: 0,
            marks: Marks::default(),
            timeline: Timeline::default(),
            writes: None,
            lines: None,
            drops_zeros: settings.drops_zeros(),
            settings,
        }
    }

    /// Records a point of the timeline after every `every` prefetches, if given.
    pub fn watch(&mut self, every: Option<u64>) {
        self.timeline = Timeline::new(every);
    }

    /// Counts what write schemes would write, if given.
    pub(super) fn count_writes(&mut self, writes: Option<Writes>) {
        self.writes = writes.map(Box::new);
    }

    /// Has the tier serve lines by itself, if given.
    pub(super) fn serve_lines(&mut self, lines: Option<Lines>) {
        self.lines = lines.map(Box::new);
    }

    /// Has a policy decide how much DRAM is held, if given.
    pub(super) fn control(&mut self, control: Option<Control>) {
        self.control = control.map(Box::new);
    }

    /// Returns the recorded points, and one for the end.
    pub fn timeline(&self) -> Vec<timeline::Point> {
        let now = self.threads.iter().map(Thread::now).max();
        let end = timeline::Point::of(&self.counts, &self.story, now.unwrap_or_default());
        self.timeline.points(end)
    }

    /// Checks that no clock has gone too far to be counted on.
    ///
    /// # Errors
    /// A failure if one has.
    pub fn expect_sound_clocks(&self) -> Result<()> {
        if self.threads.iter().any(Thread::is_beyond) {
            return Err(Error::failure(
                "a thread of the trace would run for more than 400 years; its instruction counts \
                 cannot be right, or the time of an instruction is too long",
            ));
        }
        let is_limited = |lines: &Lines| lines.bandwidth.is_some();
        if self.lines.as_deref().is_some_and(is_limited)
            && self.threads.iter().any(Thread::is_beyond_picos)
        {
            return Err(Error::failure(
                "a thread of the trace would run for more than 106 days, too long for a limit of bandwidth; \
                 give ‘bandwidth’ none without ‘fast-bandwidth’, or a shorter trace",
            ));
        }
        Ok(())
    }

    /// Adds touches of a program; `None` ends it.
    pub fn feed(&mut self, program: usize, batch: Option<&Arc<Batch>>) {
        let Some(batch) = batch else {
            self.programs[program].ended = true;
            return;
        };
        let (mut begin, mut discards) = (0, 0);
        for run in &batch.runs {
            let index = self.thread(program, run);
            let given_back = discards..run.discards;
            discards = run.discards;
            if let Some(event) = run.order {
                self.order(index, event, batch);
                continue;
            }
            let position = self.programs[program].known_to;
            self.programs[program].known_to += (run.end - begin) as u64;
            self.order_by_place(index, position);
            let thread = &mut self.threads[index];
            thread.feed(batch, begin..run.end, given_back, run.pause);
            thread.known_to = self.programs[program].known_to;
            thread.start_over();
            self.programs[program].last = Some(index);
            begin = run.end;
        }
    }

    /// Returns the index of the thread that makes a run; a new thread gets the next index.
    fn thread(&mut self, program: usize, run: &Run) -> usize {
        let owner = &mut self.programs[program];
        if run.thread as usize == owner.threads.len() {
            owner.threads.push(self.threads.len());
            let pace = match owner.counts_instructions {
                true => (self.settings.instruction_ps, self.settings.fast_line_ps),
                false => (
                    0,
                    self.settings.access.0.saturating_mul(1000) + self.settings.fast_line_ps,
                ),
            };
            self.threads.push(Thread::new(program, run.space, pace));
            self.weigh();
        }
        self.programs[program].threads[run.thread as usize]
    }

    /// Runs until touches of a program are missing, and returns that program; returns `None` when
    /// all programs have ended.
    pub fn run(&mut self, pages: &PageTable) -> Option<usize> {
        self.store.cover(pages.len());
        if let Some(writes) = &mut self.writes {
            writes.cover(pages.len());
        }
        loop {
            if let Some(program) = self.unknown_program() {
                return Some(program);
            }
            let completion = self.devices.next_completion().unwrap_or(NEVER);
            let turn = self.turn();
            if turn.is_none() && completion == NEVER {
                return None;
            }
            let look = self.next_look();
            let now = turn.map_or(NEVER, |(index, _)| self.threads[index].now());
            let event = completion.min(look);
            let Some((index, horizon)) = turn.filter(|_| event > now) else {
                match completion <= look {
                    true => self.complete(pages),
                    false => self.look(pages),
                }
                continue;
            };
            if self.threads[index].state == State::Starving {
                let program = self.threads[index].program;
                if !self.programs[program].ended && self.known(program) < LOOK_AHEAD {
                    return Some(program);
                }
                self.threads[index].state = State::Parked;
                continue;
            }
            self.drive(index, horizon.min(event), pages);
        }
    }

    /// Returns the known touches of a program that were not made.
    fn known(&self, program: usize) -> usize {
        let own = |thread: &&Thread| thread.program == program;
        self.threads.iter().filter(own).map(Thread::known).sum()
    }

    /// Returns a program that has not ended and has no known touches, or whose threads were created
    /// and are not known yet: they may begin before others go on. A thread without
    /// touches is given up after a while.
    fn unknown_program(&mut self) -> Option<usize> {
        for program in 0..self.programs.len() {
            let of = &self.programs[program];
            if of.ended || !of.threads.is_empty() && of.created.is_empty() {
                continue;
            }
            if self.known(program) < LOOK_AHEAD {
                return Some(program);
            }
            self.programs[program].created.clear();
        }
        None
    }

    /// Returns the thread with the earliest clock among the ready threads, the first of several,
    /// and the clock of the next.
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

    /// Runs a thread until its clock passes `horizon`, or it waits.
    fn drive(&mut self, index: usize, horizon: Nanos, pages: &PageTable) {
        if let State::Faulting(page, way) = self.threads[index].state {
            self.fetch(index, page, way, pages);
            return;
        }
        // Nothing has ended, and nothing begins, before that touch.
        if let Some(touch) = self.threads[index].pending.take() {
            if self.lines.is_some() {
                let target = self.threads[index].last_target();
                self.access(index, touch, target);
                return;
            }
            if let Some(writes) = &mut self.writes {
                writes.touch(touch.page(), self.threads[index].last_change());
            }
            let zeros = self.drops_zeros && self.threads[index].last_leaves_zeros();
            self.touch(index, touch, zeros, pages);
            return;
        }
        if let Some(mark) = self.threads[index].take_mark() {
            self.pass(mark, self.threads[index].clock());
            // A thread that waited for this run may be the next.
            return;
        }
        if let Some(mark) = self.threads[index].waits_for() {
            match self.passed.get(&mark) {
                Some(Some(moment)) => {
                    let warm = self.marks.warm_at;
                    self.times.idle += self.threads[index].wake(*moment, warm);
                }
                Some(None) => self.threads[index].state = State::Held(mark),
                // A part of a trace may not have the release.
                None => self.threads[index].go_on(),
            }
        } else if let Some(batch) = self.threads[index].take_batch() {
            for page in self.threads[index].take_discards() {
                self.discard(batch.discards[page], self.threads[index].now(), pages);
            }
            let soon = self.threads[index].foretell();
            // The state of those before them has arrived.
            let next = soon.start.saturating_sub(soon.len())..soon.start;
            self.expect_misses(&batch.references[next]);
            self.expect(&batch.references[soon]);
            let window = self.threads[index].window();
            let made = self.make(index, &batch, window, horizon, pages);
            self.threads[index].give_back(batch, made);
        } else {
            self.threads[index].state = State::Starving;
        }
    }

    /// Prefetches the state of pages that are touched soon. Tables with a value for each page are
    /// larger than the processor's caches; without this a simulation waits for memory most of the
    /// time.
    fn expect(&self, touches: &[Reference]) {
        let mut pages = [PageId::default(); WINDOW];
        for (page, touch) in pages.iter_mut().zip(touches) {
            *page = touch.page();
        }
        let pages = &pages[..touches.len()];
        self.store.expect(pages);
        self.replacement.expect(pages);
    }

    /// Prefetches what faults on pages change that are touched next, and whose state was prefetched
    /// before.
    fn expect_misses(&self, touches: &[Reference]) {
        let mut pages = [PageId::default(); WINDOW];
        for (page, touch) in pages.iter_mut().zip(touches) {
            *page = touch.page();
        }
        let mut absent = self.replacement.expect_misses(&pages[..touches.len()]);
        while absent != 0 {
            self.store
                .expect_read(pages[absent.trailing_zeros() as usize]);
            absent &= absent - 1;
        }
    }

    /// Lets a thread make touches until its clock passes `horizon`, or it waits; returns the number
    /// of touches made or pending.
    fn make(
        &mut self,
        index: usize,
        batch: &Batch,
        window: Range<usize>,
        horizon: Nanos,
        pages: &PageTable,
    ) -> usize {
        let touches = &batch.references[window.clone()];
        for (made, &touch) in touches.iter().enumerate() {
            let thread = &mut self.threads[index];
            thread.compute(touch);
            if horizon != NEVER && thread.now() > horizon {
                thread.pending = Some(touch);
                return made + 1;
            }
            if let Some(writes) = &mut self.writes {
                writes.touch(touch.page(), batch.changes.of(window.start + made));
            }
            let waits = match &self.lines {
                None => {
                    let zeros = self.drops_zeros && batch.zeros[window.start + made];
                    self.touch(index, touch, zeros, pages)
                }
                Some(_) => {
                    self.access(index, touch, batch.target(window.start + made));
                    false
                }
            };
            if waits {
                return made + 1;
            }
        }
        touches.len()
    }
}

impl Simulation {
    /// Returns whether all programs have ended.
    fn is_over(&self) -> bool {
        let asleep = |thread: &Thread| thread.state == State::Parked;
        self.programs.iter().all(|program| program.ended) && self.threads.iter().all(asleep)
    }
}
