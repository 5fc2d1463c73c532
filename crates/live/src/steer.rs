//! The live driver: delivers faults and first uses to the engine, carries its fetches out.
//!
//! One thread beside the program. It polls, and sleeps between two looks, longer the longer
//! nothing happens, so that a program that does not fault pays nothing for it.

mod duty_cycle;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use terrace_policy::page_cluster::{Chooser, Readahead};
use terrace_policy::prefetch::{Constituent, Engine, LifeStory, Outcome};
use terrace_policy::{Fault, Location, Memory, Page, Residence, Space};

use crate::counters::SwapCounters;
use crate::faults::FaultStream;
use crate::fetchers::Fetchers;
use crate::pagemap::Pagemap;
use crate::sysctl::PageCluster;
use duty_cycle::DutyCycle;
use terrace_base::{Context, Result};

/// Pages in one fetch.
const BATCH: usize = 64;
/// Faults of one look that are delivered to the engine.
const FRESH: usize = 16;
/// Threads that fetch.
const FETCHERS: usize = 3;
/// Pause between two looks while pages are predicted, and the longest pause while none are.
const PAUSE: (Duration, Duration) = (Duration::from_micros(40), Duration::from_millis(4));
/// Pause between two looks while the program is not watched.
const REST_PAUSE: Duration = Duration::from_millis(20);
/// How long one predicted page keeps the pauses short, and how long all of them together do. Where
/// processors share a core, frequent looks take time from the program: 20 % of a program that only
/// computes was measured. A page that saves 60 us is worth about as much looking.
const ATTENTION: (Duration, Duration) = (Duration::from_micros(60), Duration::from_millis(5));
/// A page that is found touched within this time after its fetch was issued counts as late: about the
/// time of one read of a fast device.
const READ_TIME: Duration = Duration::from_micros(100);
/// A demand fault that ends within this time after the fetch of its page was issued began before the
/// fetch; a later one means that the page was fetched and evicted again.
const FAULT_TIME: Duration = Duration::from_millis(2);
/// Pause between two sweeps over all fetched pages for those that were touched.
const SWEEP_EVERY: Duration = Duration::from_millis(1);
/// Fetched pages that one sweep looks at.
const SWEEP_PAGES: usize = 256;
/// A fetched page that stays untouched while this many windows of other pages are read counts as
/// evicted.
const HORIZON: u64 = 4;
/// Pages whose places in the tier are read in one step of the survey.
const SURVEY_PAGES: u64 = 4 << 10;
/// The survey takes at most this fraction of the time: one part in 30.
const SURVEY_SHARE: u32 = 30;
/// Pause between two looks for processes that have ended, and the fraction of the known processes that
/// each looks at: all of them within about a second, but never more than can be looked at in half a
/// millisecond.
const CENSUS_EVERY: Duration = Duration::from_millis(16);
const CENSUS_SHARE: usize = 64;
const CENSUS_MOST: usize = 64;
/// Time that one look may spend on forgetting processes.
const FORGETTING: Duration = Duration::from_millis(1);
/// Epoch over which the kernel's readahead is measured before it is judged.
const EPOCH: Duration = Duration::from_millis(50);

/// Figures of steering so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The life story of the predictions.
    pub story: LifeStory,
    /// Major faults that were lost because a ring was full.
    pub unseen_faults: u64,
}

/// A running steering thread; stops when dropped.
pub struct Steering {
    stop: Arc<AtomicBool>,
    progress: Arc<Mutex<Progress>>,
    thread: Option<JoinHandle<Vec<Constituent>>>,
}

impl Steering {
    /// Starts a thread that drives `engine` with `faults`, keeps at most `window` fetched pages that
    /// wait to be touched, and sets the kernel's readahead through `readahead` if the run owns it.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(
        engine: Engine,
        faults: FaultStream,
        window: usize,
        readahead: Option<PageCluster>,
    ) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let progress = Arc::new(Mutex::new(Progress::default()));
        let driver = Driver {
            engine,
            faults,
            window,
            memory: Pagemap::default(),
            fetchers: Fetchers::start(FETCHERS)?,
            issued: FxHashMap::default(),
            order: VecDeque::new(),
            swept: Instant::now(),
            surveyed: (Instant::now(), Duration::ZERO),
            census: Instant::now(),
            doomed: VecDeque::new(),
            fresh: Vec::new(),
            seen: 0,
            readahead: readahead.map(Epochs::new),
            cycle: DutyCycle::new(),
            progress: Arc::clone(&progress),
        };
        let thread = std::thread::Builder::new()
            .name("terrace-steer".into())
            .spawn({
                let stop = Arc::clone(&stop);
                move || driver.run(&stop)
            })
            .or_fail(|| "cannot start the steering thread".into())?;
        Ok(Self {
            stop,
            progress,
            thread: Some(thread),
        })
    }

    /// Returns the figures so far.
    pub fn progress(&self) -> Progress {
        *self.progress.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Stops. Pages that were fetched and not used by now count as wasted. Returns the figures, and the
    /// life story of each constituent.
    pub fn finish(mut self) -> (Progress, Vec<Constituent>) {
        let constituents = self.halt();
        (self.progress(), constituents)
    }

    fn halt(&mut self) -> Vec<Constituent> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        // The panic was printed by its thread; the program goes on without steering.
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        self.halt();
    }
}

/// The request of a page.
#[derive(Clone, Copy)]
struct Issue {
    at: Instant,
    /// Pages that had been read from the tier when it was issued.
    arrivals: u64,
}

struct Driver {
    engine: Engine,
    faults: FaultStream,
    memory: Pagemap,
    fetchers: Fetchers,
    /// The largest number of fetched pages that may wait to be touched.
    window: usize,
    /// Fetched pages that were not seen touched since.
    issued: FxHashMap<Location, Issue>,
    /// The same pages, in the order in which sweeps look at them.
    order: VecDeque<Location>,
    swept: Instant,
    /// Time of the last step of the survey, and its duration.
    surveyed: (Instant, Duration),
    census: Instant,
    /// Processes that have ended and are still to be forgotten.
    doomed: VecDeque<Space>,
    /// Faults that the last look delivered.
    fresh: Vec<Fault>,
    seen: u64,
    readahead: Option<Epochs>,
    cycle: DutyCycle,
    progress: Arc<Mutex<Progress>>,
}

impl Driver {
    /// Steers until `stop` is set; returns the life story of each constituent.
    fn run(mut self, stop: &AtomicBool) -> Vec<Constituent> {
        sleep_exactly();
        let mut attentive_until = Instant::now();
        let mut pause = PAUSE.0;
        while !stop.load(Ordering::Relaxed) {
            let foreseen = self.step() as u32;
            let now = Instant::now();
            attentive_until =
                (attentive_until.max(now) + ATTENTION.0 * foreseen).min(now + ATTENTION.1);
            pause = match now < attentive_until {
                true => PAUSE.0,
                false if !self.cycle.is_sampling() => REST_PAUSE,
                false => (pause * 2).min(PAUSE.1),
            };
            std::thread::sleep(pause);
        }
        self.step();
        self.sweep(usize::MAX);
        self.engine.finish();
        self.publish();
        self.engine.constituents()
    }

    /// Takes one look: faults, first uses, fetches. Returns the number of pages that were fetched or
    /// reached, on which the next pause depends: a program with random faults is looked at no more often
    /// than one without faults.
    fn step(&mut self) -> usize {
        self.memory.refresh();
        self.take_faults();
        let reached = self.watch_triggers();
        if self.room() < BATCH {
            self.sweep(usize::MAX);
        } else if self.swept.elapsed() >= SWEEP_EVERY {
            self.sweep(SWEEP_PAGES);
        }
        let fetched = self.fetch();
        self.survey();
        if let Some(readahead) = &mut self.readahead {
            readahead.tick();
        }
        let story = self.engine.story();
        if let Some(on) = self.cycle.tick(self.seen, story.used + story.late) {
            self.faults.watch(on);
        }
        self.bury();
        reached + fetched
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

    /// Delivers the faults since the last look; of many only the latest, because the program has passed
    /// what the earlier ones predict.
    fn take_faults(&mut self) {
        self.fresh.clear();
        let fresh = &mut self.fresh;
        let count = self.faults.drain(|fault| fresh.push(fault));
        self.seen += count as u64;
        for fault in &self.fresh {
            // The fault has ended: a fetch that was issued during it came too late, and the page of
            // an earlier fetch had been evicted again.
            if let Some(issue) = self.issued.remove(&fault.at) {
                if issue.at.elapsed() < FAULT_TIME {
                    let memory = &mut self.memory;
                    self.engine.touched(fault.at, Outcome::Late, memory);
                } else {
                    self.engine.evicted(fault.at);
                }
            }
        }
        let stale = self.fresh.len().saturating_sub(FRESH);
        for fault in &self.fresh[stale..] {
            // Also without predictions: the state that a predictor keeps of a process ends with it.
            self.memory.know(fault.at.space);
            self.engine.fault(fault, &mut self.memory);
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
            self.touched(at);
        }
        reached.len()
    }

    /// Takes a step of the survey of places in the tier, for predictors that ask, within its share of
    /// time.
    fn survey(&mut self) {
        let (last, took) = self.surveyed;
        if last.elapsed() >= took * SURVEY_SHARE {
            let begin = Instant::now();
            self.memory.survey(SURVEY_PAGES);
            self.surveyed = (Instant::now(), begin.elapsed());
        }
    }

    fn touched(&mut self, at: Location) {
        let Some(issue) = self.issued.remove(&at) else {
            return;
        };
        let outcome = if issue.at.elapsed() < READ_TIME {
            Outcome::Late
        } else {
            Outcome::Used
        };
        self.engine.touched(at, outcome, &mut self.memory);
    }

    /// Looks at up to `count` fetched pages, least recently looked at first.
    fn sweep(&mut self, count: usize) {
        self.swept = Instant::now();
        self.publish();
        for _ in 0..count.min(self.order.len()) {
            let Some(at) = self.order.pop_front() else {
                return;
            };
            let Some(issue) = self.issued.get(&at) else {
                continue;
            };
            if !self.engine.is_outstanding(at) {
                self.issued.remove(&at);
            } else if self.memory.residence(at) == Residence::InMemory {
                self.touched(at);
            } else if self.arrivals() - issue.arrivals > HORIZON * self.window as u64 {
                self.issued.remove(&at);
                self.engine.end(at, Outcome::Wasted);
            } else {
                self.order.push_back(at);
            }
        }
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
                let pages: Vec<Page> = group.iter().map(|at| at.page).collect();
                self.fetchers.fetch((group[0].space, pages));
            }
        }
        fetched
    }

    /// Returns how many more pages may be fetched now.
    fn room(&self) -> usize {
        self.window.saturating_sub(self.issued.len())
    }

    /// Returns the pages that were read from the tier, fetched or on demand.
    fn arrivals(&self) -> u64 {
        self.engine.story().issued + self.seen
    }

    fn next_batch(&mut self) -> Vec<Location> {
        let room = self.room().min(BATCH);
        let issue = Issue {
            at: Instant::now(),
            arrivals: self.arrivals(),
        };
        let mut batch: Vec<Location> = Vec::with_capacity(room);
        while batch.len() < room {
            let Some(at) = self.engine.next(&mut self.memory) else {
                break;
            };
            self.issued.insert(at, issue);
            self.order.push_back(at);
            batch.push(at);
        }
        batch.sort_unstable();
        batch
    }

    fn forget(&mut self, space: Space) {
        self.engine.forget(space);
        self.memory.forget(space);
        self.issued.retain(|at, _| at.space != space);
    }

    fn publish(&self) {
        *self.progress.lock().unwrap_or_else(|e| e.into_inner()) = Progress {
            story: *self.engine.story(),
            unseen_faults: self.faults.lost(),
        };
    }
}

/// Measures the benefit of the kernel's readahead, epoch by epoch.
struct Epochs {
    chooser: Chooser,
    knob: PageCluster,
    began: Instant,
    counted: SwapCounters,
}

impl Epochs {
    fn new(knob: PageCluster) -> Self {
        Self {
            chooser: Chooser::default(),
            knob,
            began: Instant::now(),
            counted: SwapCounters::read(),
        }
    }

    fn tick(&mut self) {
        if self.began.elapsed() < EPOCH {
            return;
        }
        let counted = SwapCounters::read();
        let epoch = counted.since(self.counted);
        let before = self.chooser.current();
        let after = self.chooser.epoch(epoch.readahead, epoch.readahead_hits);
        if after != before {
            // A knob that cannot be written stays as it is; the program goes on.
            let _ = self.knob.set(after == Readahead::Off);
        }
        self.counted = counted;
        self.began = Instant::now();
    }
}

/// Makes short sleeps short: by default Linux adds up to 50 us to each.
fn sleep_exactly() {
    // SAFETY: PR_SET_TIMERSLACK takes an integer and concerns this thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
