//! The loop of the steering thread.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use terrace_base::{Result, lock};
use terrace_policy::prefetch::ledger::{Ledger, Timing};
use terrace_policy::prefetch::precedence::Precedence;
use terrace_policy::prefetch::{self, Costs, Engine, Lessons, Outcome};
use terrace_policy::{Fault, Location, Memory, Residence, Space};

use super::duty_cycle::DutyCycle;
use super::epochs::Epochs;
use super::trials::Trials;
use super::{Aids, Parts, Progress};
use crate::fetch::evictor::Evictor;
use crate::fetch::fetchers::{Batch, Fetchers};
use crate::fetch::latency::Latency;
use crate::fetch::reads::Reads;
use crate::system::clock;
use crate::watch::faults::FaultStream;
use crate::watch::pagemap::Pagemap;
use crate::watch::tally::Tally;

/// Pages in one fetch: neighbours in the swap area become one read, and a demand fault waits for at
/// most one fetch on top of the reads in flight.
const BATCH: usize = 32;
/// Faults of one look that are delivered to the engine.
const FRESH: usize = 16;
/// Threads that fetch.
const FETCHERS: usize = 3;
/// Pause between two looks while pages are predicted, and the longest pause while none are.
const PAUSE: (Duration, Duration) = (Duration::from_micros(40), Duration::from_millis(4));
/// Time without a fault after which the longest pause grows, and to what: a look takes some 40 us.
const IDLE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(16));
/// Pause between two looks while the program is not watched.
const REST_PAUSE: Duration = Duration::from_millis(20);
/// How long one predicted page keeps the pauses short, and how long all of them together do. Where
/// processors share a core, frequent looks take time from the program: 20 % of a program that only
/// computes was measured. A page that saves 60 us is worth about as much looking.
const ATTENTION: (Duration, Duration) = (Duration::from_micros(60), Duration::from_millis(5));
/// What reads take: about the time of one read of a fast device, and less than the time that a page
/// takes through the kernel's lists to its eviction.
const TIMING: Timing = Timing {
    read: Duration::from_micros(100),
    eviction: Duration::from_millis(5),
};
/// Part of DRAM that is replaced in a generation of the cache of page tables: one in this many
/// pages.
const GENERATION: u64 = 64;
/// Pages that the kernel reads at a fault, by default (`vm.page-cluster` 3).
const READAHEAD: u64 = 8;
/// Pause between two sweeps for fetched pages that were touched.
const SWEEP_EVERY: Duration = Duration::from_micros(250);
/// Fetched pages that one sweep looks at.
const SWEEP_PAGES: usize = 64;
/// Pages whose places in the tier are read in one step of the survey.
const SURVEY_PAGES: u64 = 4 << 10;
/// The survey takes at most this fraction of the time: one part in 30.
const SURVEY_SHARE: u32 = 30;
/// Pause between two looks for processes that have ended, and the fraction of the known processes
/// that each looks at: all of them within about a second, but never more than can be looked at in
/// half a millisecond.
const CENSUS_EVERY: Duration = Duration::from_millis(16);
const CENSUS_SHARE: usize = 64;
const CENSUS_MOST: usize = 64;
/// Time that one look may spend on forgetting processes.
const FORGETTING: Duration = Duration::from_millis(1);
/// Epoch over which the kernel's readahead is measured before it is judged.
const EPOCH: Duration = Duration::from_millis(50);
/// What the steering thread works with.
pub(super) struct Driver {
    engine: Engine,
    faults: FaultStream,
    memory: Pagemap,
    fetchers: Fetchers,
    reads: Reads,
    precedence: Precedence,
    ledger: Ledger,
    /// Pages that are replaced in a generation of the cache of page tables.
    generation: u64,
    /// Buffer for the fetched pages that a sweep finds ended; kept for reuse.
    ended: Vec<(Location, Outcome)>,
    swept: Instant,
    /// Time of the last step of the survey, and its duration.
    surveyed: (Instant, Duration),
    census: Instant,
    /// Processes that have ended and are still to be forgotten.
    doomed: VecDeque<Space>,
    /// Faults that the last look delivered, each with the time of its end.
    fresh: Vec<(Duration, Fault)>,
    seen: u64,
    /// Time at which the present epoch began.
    epoch: Instant,
    latency: Latency,
    readahead: Option<Epochs>,
    cycle: DutyCycle,
    evictor: Option<Evictor>,
    lessons: Option<Lessons>,
    tally: Tally,
    progress: Arc<Mutex<Progress>>,
}

impl Driver {
    /// Makes a driver of `engine`; the rest is as in [`Steering::start`](super::Steering::start).
    ///
    /// # Errors
    /// A failure if no thread for fetches can be started.
    pub(super) fn new(
        engine: Engine,
        faults: FaultStream,
        dram: u64,
        areas: &[PathBuf],
        aids: Aids,
        progress: Arc<Mutex<Progress>>,
    ) -> Result<Self> {
        let reads = Reads::of(areas);
        let trials = Trials::new(u64::from(std::process::id()), aids.gauge);
        Ok(Self {
            engine,
            faults,
            memory: Pagemap::default(),
            fetchers: Fetchers::start(FETCHERS, &reads)?,
            reads,
            precedence: Precedence::default(),
            ledger: Ledger::new(TIMING, prefetch::window(dram)),
            generation: (dram / GENERATION).max(1),
            ended: Vec::new(),
            swept: Instant::now(),
            surveyed: (Instant::now(), Duration::ZERO),
            census: Instant::now(),
            doomed: VecDeque::new(),
            fresh: Vec::new(),
            seen: 0,
            epoch: Instant::now(),
            latency: Latency::of(areas),
            readahead: aids.readahead.map(Epochs::new),
            cycle: DutyCycle::new(clock::now(), trials),
            evictor: aids.evictor,
            lessons: aids.lessons,
            tally: Tally::default(),
            progress,
        })
    }

    /// Steers until `stop` is set; returns the figures by parts.
    pub(super) fn run(mut self, stop: &AtomicBool) -> Parts {
        clock::sleep_exactly();
        let mut attentive_until = Instant::now();
        let mut faulted = Instant::now();
        let mut pause = PAUSE.0;
        while !stop.load(Ordering::Relaxed) {
            let seen = self.seen;
            let foreseen = self.step() as u32;
            let now = Instant::now();
            if self.seen > seen {
                faulted = now;
            }
            let longest = if now - faulted < IDLE.0 {
                PAUSE.1
            } else {
                IDLE.1
            };
            attentive_until =
                (attentive_until.max(now) + ATTENTION.0 * foreseen).min(now + ATTENTION.1);
            pause = match now < attentive_until {
                true => PAUSE.0,
                false if self.cycle.is_at_rest() => REST_PAUSE,
                false => (pause * 2).min(longest),
            };
            std::thread::sleep(pause);
        }
        self.step();
        self.engine.finish();
        self.publish();
        Parts {
            constituents: self.engine.constituents(),
            processes: self.tally.finish(),
            lesson: self.lessons.as_ref().map(Lessons::lesson),
        }
    }

    /// Takes one look: faults, first uses, fetches. Returns the number of pages that were fetched,
    /// reached, or faulted while they waited to be fetched, on which the next pause depends: a
    /// program with random faults is looked at no more often than one without faults.
    fn step(&mut self) -> usize {
        self.memory.refresh(self.replaced() / self.generation);
        for (ticket, at) in self.fetchers.take_done() {
            self.ledger.complete(ticket, at);
        }
        let overtaken = self.take_faults();
        let reached = self.watch_triggers();
        if self.swept.elapsed() >= SWEEP_EVERY {
            self.sweep();
        }
        let fetched = match self.cycle.may_fetch() {
            true => self.fetch(),
            false => 0,
        };
        if let Some(evictor) = &mut self.evictor {
            evictor.carry_out();
        }
        self.survey();
        if self.epoch.elapsed() >= EPOCH {
            self.end_epoch();
        }
        self.rest_or_watch();
        self.bury();
        overtaken + reached + fetched
    }

    /// Watches the program, or lets it alone for a while.
    fn rest_or_watch(&mut self) {
        let costs = self.engine.costs();
        let may_fetch = self.cycle.may_fetch();
        let (seen, worth) = (self.seen, self.engine.worth());
        let turn = self
            .cycle
            .tick(clock::now(), seen, worth, &costs, self.learns());
        if let Some(on) = turn {
            self.faults.watch(on);
        }
        if may_fetch && !self.cycle.may_fetch() {
            self.leave_to_kernel();
        }
    }

    /// Whether more is learned by watching than what to fetch.
    fn learns(&self) -> bool {
        self.lessons.is_some() || self.wants_arrivals()
    }

    /// Whether an eviction policy learns from what comes in.
    fn wants_arrivals(&self) -> bool {
        let evictor = self.evictor.as_ref();
        evictor.is_some_and(Evictor::wants_arrivals)
    }

    /// Gives the kernel's readahead its chance where nothing is fetched: what fetches brought, it
    /// could not.
    fn leave_to_kernel(&mut self) {
        if let Some(readahead) = &mut self.readahead
            && self.engine.readahead_pays()
        {
            readahead.retry();
        }
    }

    /// Measures what reads take, and judges the kernel's readahead and who waits for fetches.
    fn end_epoch(&mut self) {
        self.epoch = Instant::now();
        self.reads.make_way(self.precedence.end_epoch());
        let mut costs = self.engine.costs();
        if let Some(read) = self.latency.look(self.engine.story().issued) {
            costs = Costs::of_read(read);
        }
        costs.redundant = match self.wants_arrivals() {
            true => Duration::ZERO,
            false => costs.fetch,
        };
        self.engine.set_costs(costs);
        if let Some(readahead) = &mut self.readahead {
            readahead.end(&self.engine.costs());
        }
    }

    /// Forgets processes that have ended, a few at a time: a storm of forks leaves thousands.
    fn bury(&mut self) {
        self.doomed.extend(self.fetchers.take_gone());
        if self.census.elapsed() >= CENSUS_EVERY {
            self.census = Instant::now();
            let share = self.memory.processes() / CENSUS_SHARE + 1;
            self.doomed.extend(self.memory.gone(share.min(CENSUS_MOST)));
        }
        let begin = Instant::now();
        while begin.elapsed() < FORGETTING
            && let Some(space) = self.doomed.pop_front()
        {
            // A process may have been reported several times.
            if self.memory.knows(space) {
                self.forget(space);
            }
        }
    }

    /// Delivers the faults since the last look; of many only the latest, because the program has
    /// passed what the earlier ones predict. Returns the number of those on pages that waited to be
    /// fetched.
    fn take_faults(&mut self) -> usize {
        self.fresh.clear();
        let fresh = &mut self.fresh;
        let count = self.faults.drain(|ended, fault| fresh.push((ended, fault)));
        self.seen += count as u64;
        let mut overtaken = 0;
        let fresh = std::mem::take(&mut self.fresh);
        for &(ended, fault) in &fresh {
            let space = fault.at.space;
            let waits = self.engine.is_waiting(fault.at);
            overtaken += usize::from(waits);
            self.tally.fault(space);
            if let Some(lessons) = &mut self.lessons {
                lessons.miss(&fault);
            }
            self.memory.faulted(fault.at);
            self.engine.missed(fault.at, &mut self.memory);
            let outcome = self.ledger.faulted(fault.at, ended);
            let foreseen = waits || outcome.is_some();
            self.precedence.fault(fault.thread, foreseen);
            match outcome {
                Some(Outcome::Wasted) => {
                    self.tally.end(space, Outcome::Wasted);
                    self.arrived(fault.at, true);
                    self.engine.evicted(fault.at);
                }
                Some(outcome) => self.used(fault.at, outcome),
                None => self.arrived(fault.at, false),
            }
        }
        let stale = fresh.len().saturating_sub(FRESH);
        for (_, fault) in &fresh[stale..] {
            // Also without predictions: the state that a predictor keeps of a process ends with it.
            self.memory.know(fault.at.space);
            self.engine.fault(fault, &mut self.memory);
        }
        self.fresh = fresh;
        overtaken
    }

    /// The program has touched a fetched page, which ends so.
    fn used(&mut self, at: Location, outcome: Outcome) {
        self.tally.end(at.space, outcome);
        self.arrived(at, true);
        self.engine.touched(at, outcome, &mut self.memory);
    }

    /// A page has come to DRAM, which was fetched ahead or not.
    fn arrived(&mut self, at: Location, was_fetched: bool) {
        if let Some(evictor) = &mut self.evictor {
            evictor.arrived(at, was_fetched);
        }
    }

    /// Reads from the page table which triggers have been touched.
    fn watch_triggers(&mut self) -> usize {
        let reached: Vec<Location> = self
            .engine
            .triggers()
            .iter()
            .copied()
            .filter(|&at| self.memory.residence(at) == Residence::InMemory)
            .collect();
        for &at in &reached {
            if let Some(outcome) = self.ledger.touched(at, clock::now()) {
                self.used(at, outcome);
            }
        }
        reached.len()
    }

    /// Takes a step of the survey of places in the tier, for predictors that ask, within its share
    /// of time.
    fn survey(&mut self) {
        let (last, took) = self.surveyed;
        if last.elapsed() >= took * SURVEY_SHARE {
            let begin = Instant::now();
            self.memory.survey(SURVEY_PAGES);
            self.surveyed = (Instant::now(), begin.elapsed());
        }
    }

    /// Looks at some fetched pages.
    fn sweep(&mut self) {
        self.swept = Instant::now();
        self.publish();
        let arrivals = self.arrivals();
        let memory = &mut self.memory;
        let is_touched = |at| memory.residence(at) == Residence::InMemory;
        let mut ended = std::mem::take(&mut self.ended);
        self.ledger
            .sweep(SWEEP_PAGES, arrivals, clock::now(), is_touched, &mut ended);
        for (at, outcome) in ended.drain(..) {
            match outcome {
                Outcome::Wasted => {
                    self.tally.end(at.space, outcome);
                    self.engine.end(at, outcome);
                }
                outcome => self.used(at, outcome),
            }
        }
        self.ended = ended;
    }

    /// Hands the engine's hints to free fetchers, as many as the window has room for.
    fn fetch(&mut self) -> usize {
        let mut fetched = 0;
        while self.fetchers.is_free() {
            let batch = self.next_batch();
            if batch.is_empty() {
                break;
            }
            fetched += batch.len();
            for group in batch.chunk_by(|a, b| a.space == b.space) {
                self.tally.fetched(group[0].space, group.len());
                self.memory.note_places(group);
                self.fetchers.fetch(Batch {
                    space: group[0].space,
                    pages: group.iter().map(|at| at.page).collect(),
                    ticket: self.ledger.submit(group, self.arrivals()),
                });
            }
        }
        fetched
    }

    /// Returns the pages that were read from the tier, fetched or on demand.
    fn arrivals(&self) -> u64 {
        self.engine.story().issued + self.seen
    }

    /// Returns the most pages that may have been replaced in DRAM: the kernel may read ahead at
    /// each fault.
    fn replaced(&self) -> u64 {
        self.engine.story().issued + READAHEAD * self.seen
    }

    /// Takes the next hints of the engine, as many as the window has room for; sorts them.
    fn next_batch(&mut self) -> Vec<Location> {
        let room = self.ledger.room().min(BATCH);
        let next = || self.engine.next(&mut self.memory);
        let mut batch: Vec<Location> = std::iter::from_fn(next).take(room).collect();
        batch.sort_unstable();
        batch
    }

    fn forget(&mut self, space: Space) {
        self.engine.forget(space);
        self.memory.forget(space);
        self.ledger.forget(space);
        if let Some(evictor) = &mut self.evictor {
            evictor.forget(space);
        }
        if let Some(lessons) = &mut self.lessons {
            lessons.forget(space);
        }
        self.tally.forget(space);
    }

    fn publish(&self) {
        *lock(&self.progress) = Progress {
            story: *self.engine.story(),
            redundant: self.engine.worth().redundant,
            rested: self.cycle.rested(),
            unseen_faults: self.faults.lost(),
            let_go: self.evictor.as_ref().map_or(0, Evictor::let_go),
        };
    }
}
