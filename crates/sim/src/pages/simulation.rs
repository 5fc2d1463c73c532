//! The machine in virtual time.
//!
//! Always the thread whose clock is furthest behind goes on, until its clock passes the next
//! thread's or the device's next completion; so every decision is made in the order of time, and
//! the same input gives the same result. Each thread has a processor of its own.

mod fault;
mod traffic;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use terrace_base::Nanos;
use terrace_policy::prefetch::{Constituent, Engine, LifeStory};
use terrace_policy::replacement::fifo::Fifo;
use terrace_policy::replacement::{PageId, Replacement};

use super::buffer::EvictionBuffer;
use super::count::{Counts, Latencies, Times};
use super::devices::Devices;
use super::outcome::{Clock, Outcome, Reading};
use super::settings::PageMachine;
use super::store::Store;
use super::threads::{Mark, NEVER, State, Thread, WINDOW};
use super::timeline::{Point, Timeline};
use crate::intern::PageTable;
use crate::workload::{Batch, Reference, Run};

/// Touches that are known of a program's threads before one of which nothing is known is taken
/// to sleep.
const LOOK_AHEAD: usize = 1 << 22;

/// A thread of which the trace has nothing for longer than this many touches, for each thread of
/// its program, waited for another thread. The recorder writes the touches of a thread in chunks of some
/// 16,000, so in shorter pauses there may only be chunks of other threads.
const ORDER: u64 = 1 << 16;

/// A program, as far as the order of its threads is concerned.
#[derive(Clone, Default)]
struct Program {
    counts_instructions: bool,
    ended: bool,
    /// Where its threads are among those of the machine.
    threads: Vec<usize>,
    /// Touches of its trace that are known.
    known_to: u64,
    /// The thread of the last of them.
    last: Option<usize>,
}

/// One machine.
pub struct Simulation {
    settings: PageMachine,
    replacement: Box<dyn Replacement>,
    engine: Option<Engine>,
    /// Fetched pages that were not touched, where these are kept apart.
    prefetch_cache: Option<Fifo>,
    store: Store,
    buffer: EvictionBuffer,
    devices: Devices,
    threads: Vec<Thread>,
    programs: Vec<Program>,
    counts: Counts,
    /// What became of pages that were fetched ahead, and of the other pages of a block of readahead.
    story: LifeStory,
    times: Times,
    latencies: Latencies,
    /// Names given to runs of touches so far.
    named: Mark,
    /// Runs that have been made and for which threads wait, and when they ended.
    passed: FxHashMap<Mark, Clock>,
    /// Prefetches that are being read.
    fetching: usize,
    marks: Marks,
    timeline: Timeline,
}

/// Moments that the result is told relative to.
#[derive(Default)]
pub(super) struct Marks {
    /// Touches after which the first page had to go.
    pub(super) full_at: Option<u64>,
    /// The clock of the thread that ended the warm-up.
    pub(super) warm_at: Nanos,
    /// What there was when the warm-up ended.
    pub(super) warm: Option<Reading>,
}

impl Simulation {
    /// A machine on which programs run whose traces count instructions or not. `replacement` is
    /// made for [`PageMachine::main_pages`], `engine` of `settings.prefetch`.
    pub fn new(
        settings: PageMachine,
        replacement: Box<dyn Replacement>,
        engine: Option<Engine>,
        counts_instructions: &[bool],
    ) -> Self {
        let programs = counts_instructions
            .iter()
            .map(|&counts_instructions| Program {
                counts_instructions,
                ..Program::default()
            });
        Self {
            replacement,
            engine,
            store: Store::new(settings.tier.devices),
            prefetch_cache: (settings.prefetch_cache > 0)
                .then(|| Fifo::new(settings.prefetch_cache)),
            buffer: EvictionBuffer::new(settings.eviction_buffer),
            devices: Devices::new(settings.tier.timing, settings.tier.devices),
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
            settings,
        }
    }

    /// Notes how prefetching goes after each epoch of prefetches, if that is asked for.
    pub fn watch(&mut self, every: Option<u64>) {
        self.timeline = Timeline::new(every);
    }

    /// What was noted, and what there is at the end.
    pub fn timeline(&self) -> Vec<Point> {
        let now = self.threads.iter().map(Thread::now).max();
        let end = Point::of(&self.counts, &self.story, now.unwrap_or(Nanos::ZERO));
        self.timeline.points(end)
    }

    /// More touches of a program, or none: it has ended.
    pub fn feed(&mut self, program: usize, batch: Option<&Arc<Batch>>) {
        let Some(batch) = batch else {
            self.programs[program].ended = true;
            return;
        };
        let mut begin = 0;
        for run in &batch.runs {
            let index = self.thread(program, run);
            let position = self.programs[program].known_to;
            self.programs[program].known_to += (run.end - begin) as u64;
            let after = self.run_before(index, position);
            let thread = &mut self.threads[index];
            thread.feed(batch, begin..run.end, after);
            thread.known_to = self.programs[program].known_to;
            if matches!(thread.state, State::Parked | State::Starving) {
                thread.state = State::Running;
            }
            self.programs[program].last = Some(index);
            begin = run.end;
        }
    }

    /// The index of the thread that makes a run. A new one has the next number.
    fn thread(&mut self, program: usize, run: &Run) -> usize {
        let owner = &mut self.programs[program];
        if run.thread as usize == owner.threads.len() {
            owner.threads.push(self.threads.len());
            let pace = match owner.counts_instructions {
                true => (self.settings.instruction_ps, 0),
                false => (0, self.settings.access.0.saturating_mul(1000)),
            };
            self.threads.push(Thread::new(program, run.space, pace));
        }
        owner.threads[run.thread as usize]
    }

    /// The name of the run that has to be made before a thread's run at `position` of its
    /// program's trace, if there is one: who appears in the trace for the first time, or after
    /// others have made many touches, was not there before, or slept.
    fn run_before(&mut self, index: usize, position: u64) -> Option<Mark> {
        let thread = &self.threads[index];
        let program = &self.programs[thread.program];
        let last = program.last.filter(|last| *last != index)?;
        let longest = ORDER * program.threads.len() as u64;
        if thread.known_to > 0 && position - thread.known_to <= longest {
            return None;
        }
        self.named += 1;
        let mark = self.named;
        if self.threads[last].name_end(mark).is_none() {
            self.passed.insert(mark, self.threads[last].clock());
        }
        Some(mark)
    }

    /// Wakes the threads that wait for the run of this name, which has been made.
    fn pass(&mut self, mark: Mark, moment: Clock) {
        self.passed.insert(mark, moment);
        let held = |thread: &&mut Thread| thread.state == State::Held(mark);
        if let Some(thread) = self.threads.iter_mut().find(held) {
            thread.state = State::Running;
        }
    }

    /// Runs until more must be known of a program, which is returned, or until all have ended.
    pub fn run(&mut self, pages: &PageTable) -> Option<usize> {
        self.store.cover(pages.len());
        loop {
            if let Some(program) = self.unknown_program() {
                return Some(program);
            }
            let completion = self.devices.next_completion().unwrap_or(NEVER);
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
                if !self.programs[program].ended && self.known(program) < LOOK_AHEAD {
                    return Some(program);
                }
                self.threads[index].state = State::Parked;
                continue;
            }
            self.drive(index, horizon.min(completion), pages);
        }
    }

    /// Touches of a program that are known and were not made.
    fn known(&self, program: usize) -> usize {
        let own = self
            .threads
            .iter()
            .filter(|thread| thread.program == program);
        own.map(Thread::known).sum()
    }

    /// A program of which nothing is known yet.
    fn unknown_program(&self) -> Option<usize> {
        self.programs
            .iter()
            .position(|program| program.threads.is_empty() && !program.ended)
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
        if let State::Faulting(page, way) = self.threads[index].state {
            self.fetch(index, page, way, pages);
            return;
        }
        // Nothing has ended, and nothing begins, before that touch.
        if let Some(touch) = self.threads[index].pending.take() {
            self.touch(index, touch, pages);
            return;
        }
        if let Some(mark) = self.threads[index].take_mark() {
            self.pass(mark, self.threads[index].clock());
            // Who waited for that may be the next now.
            return;
        }
        if let Some(mark) = self.threads[index].waits_for() {
            match self.passed.remove(&mark) {
                Some(moment) => {
                    let warm = self.marks.warm_at;
                    self.times.idle += self.threads[index].wake(moment, warm);
                }
                None => self.threads[index].state = State::Held(mark),
            }
        } else if let Some(batch) = self.threads[index].take_batch() {
            let soon = self.threads[index].foretell();
            self.expect(&batch.references[soon]);
            let window = self.threads[index].window();
            let made = self.make(index, &batch.references[window], horizon, pages);
            self.threads[index].give_back(batch, made);
        } else {
            self.threads[index].state = State::Starving;
        }
    }

    /// These touches come soon. Tables of a value a page are larger than the processor's caches;
    /// without this a simulation waits for memory most of the time.
    fn expect(&self, touches: &[Reference]) {
        let mut pages = [PageId::default(); WINDOW];
        for (page, touch) in pages.iter_mut().zip(touches) {
            *page = touch.page();
        }
        let pages = &pages[..touches.len()];
        self.store.expect(pages);
        self.replacement.expect(pages);
    }

    /// A thread makes touches until its clock passes `horizon`, or it waits; returns how many
    /// were made, or are pending.
    fn make(
        &mut self,
        index: usize,
        touches: &[Reference],
        horizon: Nanos,
        pages: &PageTable,
    ) -> usize {
        for (made, &touch) in touches.iter().enumerate() {
            let thread = &mut self.threads[index];
            thread.compute(touch);
            if horizon != NEVER && thread.now() > horizon {
                thread.pending = Some(touch);
                return made + 1;
            }
            if self.touch(index, touch, pages) {
                return made + 1;
            }
        }
        touches.len()
    }
}

impl Simulation {
    /// Whether all programs have ended.
    fn is_over(&self) -> bool {
        let asleep = |thread: &Thread| thread.state == State::Parked;
        self.programs.iter().all(|program| program.ended) && self.threads.iter().all(asleep)
    }

    /// Returns the life story of predictions: the engine's, with what became of pages here.
    fn story(&self) -> LifeStory {
        let Some(engine) = &self.engine else {
            return self.story;
        };
        let story = engine.story();
        LifeStory {
            // The engine counts as issued what it named again for doubt and was still there.
            in_memory: story.in_memory + story.issued - self.story.issued,
            issued: self.story.issued,
            used: self.story.used,
            late: self.story.late,
            wasted: self.story.wasted,
            ..*story
        }
    }

    /// Returns the life stories by the constituents of a combination.
    fn constituents(&self) -> Vec<Constituent> {
        let engine = self.engine.as_ref();
        engine.map(Engine::constituents).unwrap_or_default()
    }

    /// What all meters say now.
    fn reading(&self) -> Reading {
        let computed = self.threads.iter().map(Thread::computed).sum();
        Reading {
            counts: self.counts,
            story: self.story(),
            latencies: self.latencies,
            constituents: self.constituents(),
            times: Times {
                compute: computed,
                ..self.times
            },
            slot_writes: self.store.writes().to_vec(),
            places: self.store.places(),
            clocks: self.threads.iter().map(Thread::clock).collect(),
        }
    }

    /// What the simulation found. Call it when [`Simulation::run`] has nothing left to do.
    pub fn outcome(&self, pages: &PageTable) -> Outcome {
        Outcome::new(
            &self.settings,
            pages.len() as u64,
            &self
                .programs
                .iter()
                .map(|program| program.threads.len() as u32)
                .collect::<Vec<_>>(),
            self.marks.warm.as_ref(),
            self.marks.full_at,
            self.store.untouched(),
            self.reading(),
        )
    }
}
