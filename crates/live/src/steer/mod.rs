//! The live driver: delivers faults and first uses to the engine, carries its fetches out.
//!
//! One thread beside the program (`driver`). It polls, and sleeps between two looks, longer the
//! longer nothing happens, so that a program that does not fault pays nothing for it.

pub mod lesson;
pub mod placement;
pub(crate) mod steered;

mod driver;
mod duty_cycle;
mod epochs;
mod trials;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use terrace_base::{Result, lock};
use terrace_policy::prefetch::{Constituent, Engine, Lesson, Lessons, LifeStory};

use crate::fetch::evictor::Evictor;
use crate::machine::sysctl::PageCluster;
use crate::system::worker::Worker;
use crate::watch::faults::FaultStream;
use crate::watch::tally::ProcessFigures;
use driver::Driver;
pub use trials::Gauge;

/// Figures of steering so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The life story of the predictions.
    pub story: LifeStory,
    /// Fetched pages that were used, and that the kernel's readahead would have brought.
    pub redundant: u64,
    /// Time for which nothing was fetched, to try what fetches are worth or because they were worth
    /// nothing.
    pub rested: Duration,
    /// Major faults that were lost because a ring was full.
    pub unseen_faults: u64,
    /// Pages that were let go early.
    pub let_go: u64,
}

impl Progress {
    /// Returns what was added since `earlier`, figures of the same steering.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            story: self.story - earlier.story,
            redundant: self.redundant.saturating_sub(earlier.redundant),
            rested: self.rested.saturating_sub(earlier.rested),
            unseen_faults: self.unseen_faults.saturating_sub(earlier.unseen_faults),
            let_go: self.let_go.saturating_sub(earlier.let_go),
        }
    }
}

/// Figures of steering by its parts, known at its end.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Life story of each constituent of a combination.
    pub constituents: Vec<Constituent>,
    /// Figures of each process.
    pub processes: Vec<ProcessFigures>,
    /// Misses, if they were recorded.
    pub lesson: Option<Lesson>,
}

/// What steering does beside fetching; by default nothing.
#[derive(Default)]
pub struct Aids {
    /// Tries whether fetching pays.
    pub gauge: Option<Gauge>,
    /// The kernel's readahead, if the run owns it.
    pub readahead: Option<PageCluster>,
    /// Lets pages go.
    pub evictor: Option<Evictor>,
    /// Records the misses.
    pub lessons: Option<Lessons>,
}

/// A running steering thread; stops when dropped.
pub struct Steering {
    progress: Arc<Mutex<Progress>>,
    parts: Arc<Mutex<Parts>>,
    thread: Worker,
}

impl Steering {
    /// Starts a thread that drives `engine` with `faults` for a program with a DRAM of `dram`
    /// pages, keeps few reads in flight at the devices of `areas`, and has these `aids`.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(
        engine: Engine,
        faults: FaultStream,
        dram: u64,
        areas: &[PathBuf],
        aids: Aids,
    ) -> Result<Self> {
        let progress = Arc::new(Mutex::new(Progress::default()));
        let driver = Driver::new(engine, faults, dram, areas, aids, Arc::clone(&progress))?;
        let parts = Arc::new(Mutex::new(Parts::default()));
        let found = Arc::clone(&parts);
        let thread = Worker::start("terrace-steer", move |stop| {
            *lock(&found) = driver.run(stop);
        })?;
        Ok(Self {
            progress,
            parts,
            thread,
        })
    }

    /// Returns the figures so far.
    pub fn progress(&self) -> Progress {
        *lock(&self.progress)
    }

    /// Stops. Pages that were fetched and not used by now count as wasted. Returns the figures, in
    /// all and by parts.
    pub fn finish(self) -> (Progress, Parts) {
        drop(self.thread);
        let parts = std::mem::take(&mut *lock(&self.parts));
        (*lock(&self.progress), parts)
    }
}
