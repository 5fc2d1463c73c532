//! Prefetching: predictors, and the engine that both drivers run them in.
//!
//! A [`Predictor`] answers a fault with pages, best first. The [`Engine`] filters them,
//! keeps them as hints in a secondary queue until no demand request waits, and keeps the
//! life story of every prediction (Fedorov 2016, sections 5.4.3 and 5.5.3).
//!
//! To add a predictor: copy [`stream`], and name it in [`REGISTRY`].

mod engine;
mod queue;
mod story;
pub mod stream;

pub use engine::{Engine, Settings};
pub use queue::SecondaryQueue;
pub use story::LifeStory;

use crate::page::{Fault, Location, Memory, Page, Space};

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
/// The engine hands it back with the outcome and looks no further into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source(pub u32);

/// Pages that one source expects to be touched soon, best first, all of one space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Where it came from.
    pub source: Source,
    /// The address space of all its pages.
    pub space: Space,
    /// The pages, best first.
    pub pages: Vec<Page>,
}

/// Foresees pages from the stream of faults.
///
/// It has no clock and does no I/O. It need not know which of its pages are in memory, the
/// engine filters; it may look at memory around a fault to understand it.
pub trait Predictor: Send {
    /// A demand fault happened: what will be touched next?
    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory) -> Option<Prediction>;

    /// The program has reached the page that opened an earlier prediction of `source`, or,
    /// where `reached` is none, part of that prediction was in memory already: what comes
    /// after it?
    fn advance(&mut self, source: Source, reached: Option<Location>) -> Option<Prediction>;

    /// Nothing of what `source` predicted will be fetched: all of it was filtered, or pushed out
    /// of the queue. No page of it will call [`Predictor::advance`].
    fn futile(&mut self, source: Source);

    /// What became of one fetched page of `source`.
    fn outcome(&mut self, source: Source, outcome: Outcome);

    /// The address space is gone; forget what concerns it.
    fn forget(&mut self, space: Space);
}

/// A predictor's name on the command line, what it is, and how to make one.
#[derive(Debug)]
pub struct Entry {
    /// The name after `--prefetch`.
    pub name: &'static str,
    /// One line for `--help`.
    pub summary: &'static str,
    /// Makes one with its default settings.
    pub make: fn() -> Box<dyn Predictor>,
}

/// Every predictor, by name; the first is the default.
pub const REGISTRY: &[Entry] = &[Entry {
    name: "stream",
    summary: "runs ahead of interleaved constant-stride streams, further as it proves right",
    make: || Box::new(stream::Stream::new(stream::Settings::default())),
}];

/// The predictor called `name`, if there is one.
pub fn by_name(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
