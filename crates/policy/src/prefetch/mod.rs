//! Prefetching: predictors, and the engine that both drivers run them in.
//!
//! A [`Predictor`] answers a fault with pages, best first. The [`Engine`] filters them,
//! keeps them as hints in a secondary queue until no demand request waits, and keeps the
//! life story of every prediction (Fedorov 2016, sections 5.4.3 and 5.5.3).
//!
//! To add a predictor: copy [`spatial`], and name it in [`REGISTRY`].

mod accuracy;
mod answer;
pub mod auto;
pub mod combo;
mod costs;
mod engine;
pub mod leap;
mod lru;
pub mod markov;
pub mod oracle;
mod queue;
pub mod readahead;
mod registry;
mod sketch;
pub mod spatial;
mod spec;
mod story;
pub mod stream;
pub mod stride;
pub mod stride_markov;
pub mod temporal;
#[cfg(test)]
mod testing;
mod threads;
pub mod vldp;

pub use crate::params::Params;
pub use costs::Costs;
pub use engine::{Engine, Order, Settings, Trigger};
pub use queue::SecondaryQueue;
pub use registry::{Entry, Future, Made, Make, REGISTRY, by_name};
pub use spec::{ENGINE_KEYS, Spec};
pub use story::{Constituent, LifeStory};

use crate::page::{Fault, Location, Memory, Space, Thread};

/// What became of a page that was fetched ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Touched after it had arrived.
    Used,
    /// Touched before it had arrived: the program waited, though less than for a demand fetch.
    Late,
    /// Evicted, or its program ended, before it was touched.
    Wasted,
}

/// Names, for its predictor, the stream, table entry or state that a prediction came from.
/// The engine hands it back with the outcome and looks no further into it. The upper half is for
/// predictors that are made of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source(pub u64);

/// Pages that one source expects to be touched soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Where it came from.
    pub source: Source,
    /// The pages, best first.
    pub pages: Vec<Location>,
    /// Whether the source has more to say when the first page that is fetched of this is used:
    /// [`Predictor::advance`] is called then.
    pub goes_on: bool,
}

/// How many fetched pages may wait to be touched where a program has so many pages of DRAM: a
/// sixteenth of them, but some tens, and no more than a device needs to be kept busy.
pub fn window(dram_pages: u64) -> u64 {
    (dram_pages / 16).clamp(64, 2048)
}

/// Foresees pages from the stream of faults.
///
/// It has no clock and does no I/O. It need not know which of its pages are in memory, the
/// engine filters; it may look at memory around a fault to understand it.
pub trait Predictor: Send {
    /// A demand fault happened: what will be touched next? Adds to `predictions`, best first.
    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory, predictions: &mut Vec<Prediction>);

    /// The program has reached the page that opened an earlier prediction of `source` that goes
    /// on, or, where `reached` is none, part of that prediction was in memory already: what comes
    /// after it?
    fn advance(&mut self, _source: Source, _reached: Option<Location>) -> Option<Prediction> {
        None
    }

    /// Nothing of what `source` predicted will be fetched: all of it was filtered, or the page
    /// that would have called [`Predictor::advance`] was pushed out of the queue.
    fn futile(&mut self, _source: Source) {}

    /// What became of one fetched page of `source`.
    fn outcome(&mut self, _source: Source, _outcome: Outcome) {}

    /// The thread has made so many touches; only a simulator knows, and only the oracle asks.
    fn made(&mut self, _thread: Thread, _touches: u64) {}

    /// What fetches cost on this machine; a driver that knows says so before the first fault.
    fn price(&mut self, _costs: Costs) {}

    /// So many fetched pages may wait to be touched without pushing out what is needed; said once,
    /// before the first fault, by [`window`] of the pages of DRAM.
    fn limit(&mut self, _window: u64) {}

    /// Whether nothing will ever be predicted, so that nobody need watch for faults.
    fn is_in_vain(&self) -> bool {
        false
    }

    /// The names of the predictors that it is made of, at most eight; of a simple one, none.
    fn constituents(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Which of these named the pages of `source`: a bit for each, the first the lowest.
    fn named_by(&self, _source: Source) -> u8 {
        0
    }

    /// The address space is gone; forget what concerns it.
    fn forget(&mut self, _space: Space) {}
}
