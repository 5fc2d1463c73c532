//! The machine that a simulation of pages is about, and how it is driven.

use std::fmt;

use terrace_base::{Error, Nanos, Result};
use terrace_device::{Energy, Timing};
use terrace_policy::prefetch;
use terrace_policy::replacement;

use super::cost::FaultCost;
use super::run::Foresight;

/// Whether a page that is fetched keeps its copy in the slower tier (Awad 2016, 5.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inclusion {
    #[default]
    /// The tier keeps the copy: a page that was not written to since needs no write when it is evicted.
    Inclusive,
    /// The tier gives the copy up: every eviction writes.
    Exclusive,
}

/// How pages are fetched ahead.
#[derive(Clone, Debug, Default)]
pub enum Prefetch {
    /// Nothing is fetched ahead.
    #[default]
    Off,
    /// As the kernel does: with each fault the aligned block of `1 << cluster` places of the swap
    /// area around the page is read, in its order, and the program waits for its own page only
    /// (Fedorov 2016, 5.4.2). `cluster` is `vm.page-cluster`.
    Readahead {
        /// Pages of a block, as a power of two.
        cluster: u32,
    },
    /// By a predictor in the engine that runs live as well.
    Predictor(prefetch::Spec),
}

impl Prefetch {
    /// Returns `vm.page-cluster` of readahead.
    pub fn cluster(&self) -> Option<u32> {
        match self {
            Self::Readahead { cluster } => Some(*cluster),
            Self::Off | Self::Predictor(_) => None,
        }
    }

    /// Returns whether it needs to know the future.
    pub fn knows_future(&self) -> bool {
        matches!(self, Self::Predictor(spec) if spec.entry().knows_future())
    }
}

impl fmt::Display for Prefetch {
    /// As on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Readahead { .. } => f.write_str("readahead"),
            Self::Predictor(spec) => spec.fmt(f),
        }
    }
}

/// Who waits for prefetches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// The fault that called for them (Awad 2016, figure 12).
    Synchronous,
    /// Nobody.
    #[default]
    Asynchronous,
}

/// The slower tier.
#[derive(Clone, Debug, Default)]
pub struct Tier {
    /// The technology's name.
    pub name: String,
    /// How each of its devices serves requests.
    pub timing: Timing,
    /// Devices, all alike; pages go to them in turn as they are written for the first time, as to
    /// Linux swap areas of equal priority (Fedorov 2016, 5.5.2). 0 counts as 1.
    pub devices: u32,
    /// What it consumes, where that is known.
    pub energy: Option<Energy>,
    /// Writes that a cell endures, where that is known.
    pub endurance: Option<f64>,
    /// Its size in pages; the footprint where it is not given.
    pub pages: Option<u64>,
}

impl PageMachine {
    /// Pages of DRAM that the prefetch cache leaves.
    ///
    /// # Errors
    /// A usage error where that is none.
    pub fn main_pages(&self) -> Result<usize> {
        let main = self.dram_pages.checked_sub(self.prefetch_cache);
        main.filter(|pages| *pages > 0).ok_or_else(|| {
            Error::usage(format!(
                "a prefetch cache of {} pages leaves nothing of a DRAM of {}; make it smaller",
                self.prefetch_cache, self.dram_pages
            ))
        })
    }

    /// What its policies have to know of the future.
    pub fn foresight(&self) -> Foresight {
        if self.replacement.entry().knows_future() {
            Foresight::Order
        } else if self.prefetch.knows_future() {
            Foresight::Threads
        } else {
            Foresight::Nothing
        }
    }
}

/// A machine, and how it is driven. By default it has nothing and costs nothing: [`super::options`]
/// has the defaults of the command line.
#[derive(Clone, Debug, Default)]
pub struct PageMachine {
    /// Pages of DRAM for programs, at least one.
    pub dram_pages: usize,
    /// Those of them that are kept for pages fetched ahead, first in, first out, until they are
    /// touched; then they move to the rest (Oskin & Loh 2015, V.D). With none, fetched pages go
    /// where all others are.
    pub prefetch_cache: usize,
    /// The slower tier.
    pub tier: Tier,
    /// What stays in DRAM.
    pub replacement: replacement::Spec,
    /// What is fetched ahead.
    pub prefetch: Prefetch,
    /// Who waits for that.
    pub work: Work,
    /// Whether fetched pages keep their copy.
    pub inclusion: Inclusion,
    /// Evicted pages that wait in DRAM, beside `dram_pages`, to be written in the background
    /// (Awad 2016, section 2). With none, a fault waits until the page that goes is written.
    pub eviction_buffer: usize,
    /// What a fault costs.
    pub fault: FaultCost,
    /// Threads that a shoot-down reaches; those of the program where it is not given.
    pub threads: Option<u32>,
    /// Time of an instruction in picoseconds, all of it that is not a page fault.
    pub instruction_ps: u64,
    /// Time between two accesses of a trace that does not count instructions.
    pub access: Nanos,
    /// Touches before figures are taken.
    pub warmup: u64,
    /// For what a policy leaves to chance.
    pub seed: u64,
}
