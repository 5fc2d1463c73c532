//! The live driver: delivers faults and first uses to the engine, carries its fetches out.
//!
//! One thread beside the program. It polls, and sleeps between two looks, longer the longer
//! nothing happens, so that a program that does not fault pays nothing for it.

mod shift;

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
use shift::Shift;
use terrace_base::{Context, Result};

/// Pages in one fetch.
const BATCH: usize = 64;
/// Faults of one look that the engine is told of.
const FRESH: usize = 16;
/// Threads that fetch.
const FETCHERS: usize = 3;
/// Between two looks while something is foreseen, and at most while nothing is.
const PAUSE: (Duration, Duration) = (Duration::from_micros(40), Duration::from_millis(4));
/// The same while it is not watched: then there is little to see.
const REST_PAUSE: Duration = Duration::from_millis(20);
/// How long a page that was foreseen keeps the thread attentive, and how long all of them together
/// do. Looking often takes time from the program where processors share a core, measured as 20 % of
/// a program that computes: what saves it 60 us is worth about as much looking.
const ATTENTION: (Duration, Duration) = (Duration::from_micros(60), Duration::from_millis(5));
/// A page found touched this soon after its fetch went out had not arrived, or just so: about
/// one read of a fast device.
const READ_TIME: Duration = Duration::from_micros(100);
/// A demand fault on a page whose fetch went out less than this before its end had begun
/// before the fetch did; after that, the page had been fetched and evicted again.
const FAULT_TIME: Duration = Duration::from_millis(2);
/// Between two looks at all fetched pages for those that were touched.
const SWEEP_EVERY: Duration = Duration::from_millis(1);
/// Fetched pages looked at in one sweep.
const SWEEP_PAGES: usize = 256;
/// A fetched page that has not been touched while this many windows of others came in was
/// evicted again, or soon will be.
const HORIZON: u64 = 4;
/// Pages of which is looked where they lie in the tier, at a time.
const SURVEY_PAGES: u64 = 16 << 10;
/// That takes at most one in so many parts of the time.
const SURVEY_SHARE: u32 = 30;
/// Between two looks for processes that have ended.
const CENSUS_EVERY: Duration = Duration::from_secs(1);
/// How long the kernel's readahead is measured before it is judged.
const EPOCH: Duration = Duration::from_millis(50);

/// What steering has done so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// What became of the predictions.
    pub story: LifeStory,
    /// Major faults that were not seen because the ring was full.
    pub unseen_faults: u64,
}

/// A running steering thread; stops when dropped.
pub struct Steering {
    stop: Arc<AtomicBool>,
    progress: Arc<Mutex<Progress>>,
    thread: Option<JoinHandle<Vec<Constituent>>>,
}

impl Steering {
    /// Starts to steer: `engine` over `faults`, with at most `window` fetched pages that wait
    /// to be touched, and the kernel's readahead through `readahead` where it is ours to set.
    ///
    /// # Errors
    /// A failure where no thread can be started.
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
            fresh: Vec::new(),
            seen: 0,
            readahead: readahead.map(Epochs::new),
            shift: Shift::new(),
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

    /// What it has done so far.
    pub fn progress(&self) -> Progress {
        *self.progress.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Stops; what was fetched and not used by now was wasted. Returns what it has done, and what
    /// became of the predictions of each constituent.
    pub fn finish(mut self) -> (Progress, Vec<Constituent>) {
        let constituents = self.halt();
        (self.progress(), constituents)
    }

    fn halt(&mut self) -> Vec<Constituent> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        // A panic there has been printed; the program does not need steering to go on.
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

/// When a page was asked for.
#[derive(Clone, Copy)]
struct Issue {
    at: Instant,
    /// Pages that had come in by then.
    arrivals: u64,
}

struct Driver {
    engine: Engine,
    faults: FaultStream,
    memory: Pagemap,
    fetchers: Fetchers,
    /// Most fetched pages that may wait to be touched.
    window: usize,
    /// The pages that were asked for and not seen touched since.
    issued: FxHashMap<Location, Issue>,
    /// The same pages, in the order in which they are looked at.
    order: VecDeque<Location>,
    swept: Instant,
    /// When it was looked last where pages lie in the tier, and how long that took.
    surveyed: (Instant, Duration),
    census: Instant,
    /// Faults since the last look.
    fresh: Vec<Fault>,
    seen: u64,
    readahead: Option<Epochs>,
    shift: Shift,
    progress: Arc<Mutex<Progress>>,
}

impl Driver {
    /// Steers until it is told to stop; returns what became of the predictions of each constituent.
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
                false if !self.shift.is_watching() => REST_PAUSE,
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

    /// One look: faults, first uses, fetches. Says how many pages were fetched or reached: a program
    /// that faults at random is not looked at more often than one that does not fault, and keeps
    /// the CPU for itself.
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
        if let Some(on) = self.shift.tick(self.seen, story.used + story.late) {
            self.faults.watch(on);
        }
        if self.census.elapsed() >= CENSUS_EVERY {
            self.census = Instant::now();
            for space in self.memory.ended() {
                self.forget(space);
            }
        }
        reached + fetched
    }

    /// Delivers the faults that have happened, when there are many only the latest: the program
    /// has gone on since, and what the others foretell is past.
    fn take_faults(&mut self) {
        self.fresh.clear();
        let fresh = &mut self.fresh;
        let count = self.faults.drain(|fault| fresh.push(fault));
        self.seen += count as u64;
        for fault in &self.fresh {
            // The fault has ended by now: a fetch that is younger than it came too late for
            // it, an older one had been evicted again.
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
            self.engine.fault(fault, &mut self.memory);
        }
    }

    /// Asks the page table which triggers have been touched.
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

    /// Looks where pages lie in the tier, for predictors that ask, while that takes little time.
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

    /// Looks at up to `count` fetched pages, those first that were not looked at for longest.
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
        for space in self.fetchers.take_gone() {
            self.forget(space);
        }
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

    /// How many more pages may be fetched now.
    fn room(&self) -> usize {
        self.window.saturating_sub(self.issued.len())
    }

    /// Pages that have come in from the tier, fetched or on demand.
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

/// Measures what the kernel's readahead brings, epoch by epoch.
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
            // A knob that cannot be written stays as it is; the program runs on all the same.
            let _ = self.knob.set(after == Readahead::Off);
        }
        self.counted = counted;
        self.began = Instant::now();
    }
}

/// Lets short sleeps be short: by default Linux adds up to 50 us to each.
fn sleep_exactly() {
    // SAFETY: PR_SET_TIMERSLACK takes an integer and concerns this thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
