//! Prefetching: predictors, and the engine that both drivers run them in.
//!
//! A [`Predictor`] answers a fault with pages, best first. The [`Engine`] filters them, keeps them
//! as hints in a secondary queue while demand requests wait, and records the life story of every
//! prediction (Fedorov 2016, sections 5.4.3 and 5.5.3).
//!
//! To add a predictor: copy [`spatial`], and name it in [`REGISTRY`].

mod accuracy;
mod answer;
pub mod auto;
pub mod combo;
mod costs;
mod engine;
pub mod ghost;
mod history;
pub mod leap;
pub mod ledger;
mod lesson;
mod lru;
mod make;
pub mod markov;
pub mod oracle;
pub mod precedence;
mod queue;
pub mod readahead;
mod registry;
pub mod replay;
mod settings;
mod sketch;
pub mod spatial;
mod story;
pub mod stream;
pub mod stride;
pub mod stride_markov;
pub mod temporal;
#[cfg(test)]
mod testing;
mod threads;
pub mod trial;
pub mod vldp;
mod window;
mod worth;

pub use crate::params::Params;
pub use costs::Costs;
pub use engine::Engine;
pub use ghost::KernelReadahead;
pub use lesson::{Lesson, Lessons, Walks};
pub use make::{Entry, Future, Made, Make, Spec};
pub use queue::SecondaryQueue;
pub use registry::REGISTRY;
pub use settings::{EngineSettings, Order, Throttle, Trigger};
pub use story::{Constituent, Count, LifeStory};
pub use window::{Neighbours, Window};
pub use worth::Worth;

use crate::page::{Fault, Location, Memory, Space, Thread};

/// End of a fetched page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The page was touched after it had arrived.
    Used,
    /// The page was touched before it had arrived: the program waited, though less than for a
    /// demand fetch.
    Late,
    /// A demand fault that began before the fetch read the page, and the fetch read nothing.
    Reissued,
    /// The page was evicted, or its program ended, before it was touched.
    Wasted,
}

/// Identifies, within a predictor, the stream, table entry or state that made a prediction. The
/// engine passes it back with the outcome and does not interpret it. The upper half is reserved for
/// predictors made of other predictors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source(pub u64);

/// Pages that one source expects to be touched soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Source of the prediction.
    pub source: Source,
    /// Predicted pages, best first.
    pub pages: Vec<Location>,
    /// Whether the source can continue: [`Predictor::advance`] is called when the first fetched
    /// page of this prediction is used.
    pub goes_on: bool,
}

impl Prediction {
    /// Makes a prediction that does not go on.
    pub fn of(source: Source, pages: Vec<Location>) -> Self {
        let goes_on = false;
        Self {
            source,
            pages,
            goes_on,
        }
    }
}

/// Returns the number of fetched pages that may wait to be used, for a DRAM of `dram_pages` pages:
/// three sixteenths of DRAM, at least 64, at most 2048, which is enough to keep a device busy. With
/// one sixteenth, pages that were never used filled the window of a DRAM of 42 MB, and 60 % of the
/// demand faults of a sparse solver were on pages that waited for room in it: 80 s, and 42 s so.
pub fn window(dram_pages: u64) -> u64 {
    (dram_pages * 3 / 16).clamp(64, 2048)
}

/// Predicts pages from the stream of demand faults.
///
/// A predictor has no clock and does no I/O. It need not know which of its pages are in memory,
/// because the engine filters them; it can query memory around a fault to interpret the fault.
pub trait Predictor: Send {
    /// Returns the engine's settings that suit the predictor, for those that users do not give.
    fn engine(&self) -> EngineSettings {
        EngineSettings::default()
    }

    /// Handles a demand fault: appends predictions of the next touches to `predictions`, best
    /// first.
    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory, predictions: &mut Vec<Prediction>);

    /// Continues an earlier prediction of `source` that goes on. `reached` is the first fetched
    /// page of that prediction, which the program has touched; it is `None` if part of the
    /// prediction was in memory already.
    fn advance(&mut self, _source: Source, _reached: Option<Location>) -> Option<Prediction> {
        None
    }

    /// Called when nothing that `source` predicted will be fetched: all of it was filtered, or the
    /// page that would have called [`Predictor::advance`] was pushed out of the queue.
    fn on_exhausted(&mut self, _source: Source) {}

    /// Called at the end of a fetched page of `source`.
    fn outcome(&mut self, _source: Source, _outcome: Outcome) {}

    /// Called before the outcome of a used page of `source` that the kernel's readahead would have
    /// brought as well, so that the fetch spared the program nothing.
    fn redundant(&mut self, _source: Source) {}

    /// Sets the number of touches that a thread has made. Only a simulator knows it, and only the
    /// oracle uses it.
    fn advance_clock(&mut self, _thread: Thread, _touches: u64) {}

    /// Sets the costs of faults and fetches on this machine, before the first fault or as they are
    /// measured.
    fn set_costs(&mut self, _costs: Costs) {}

    /// Sets the number of fetched pages that may wait to be used without displacing needed pages,
    /// as [`window`] returns it, before the first fault.
    fn set_window(&mut self, _window: u64) {}

    /// Whether prefetching cannot pay on this machine, so that no driver need watch for faults.
    fn cannot_pay(&self) -> bool {
        false
    }

    /// Whether a driver may try what fetching is worth, and leave it out while it is worth nothing.
    /// A predictor that was asked for by name fetches all the same.
    fn may_rest(&self) -> bool {
        false
    }

    /// Returns the names of the predictors that this one is made of, at most eight; none for a
    /// simple predictor.
    fn constituents(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns the constituents that predicted the pages of `source`, one bit each, lowest bit
    /// first.
    fn named_by(&self, _source: Source) -> u8 {
        0
    }

    /// Learns from the misses of an earlier run, before the first fault. Returns whether it can
    /// learn.
    fn learn(&mut self, _lesson: &Lesson) -> bool {
        false
    }

    /// Forgets everything about an address space that has ended.
    fn forget(&mut self, _space: Space) {}
}
