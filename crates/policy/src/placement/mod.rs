//! Static placement: which allocation sites of a program have their objects in fast memory, and
//! which in slow memory (Oskin & Loh 2015, III).
//!
//! A search knows sites by number, with the bytes that each needs, and asks an [`Evaluation`] how
//! long the program takes. The paper's evaluation is a run of the program; a simulation, or one
//! that knows what a site changes, is one as well.

pub mod climb;
pub mod exhaustive;
pub mod knapsack;

pub use climb::climb;
pub use exhaustive::exhaustive;
pub use knapsack::knapsack;

/// The time of a program by the memory of its sites.
pub trait Evaluation {
    /// Moves a site from slow to fast memory, or back. At first all sites are in slow memory.
    fn toggle(&mut self, site: usize);

    /// Returns the time of the program as its sites are placed now, in any unit.
    fn time(&mut self) -> u64;
}

/// An evaluation from nothing: a function gives the time by whether each site is in fast memory.
#[derive(Clone, Debug)]
pub struct Whole<F> {
    fast: Vec<bool>,
    evaluate: F,
}

impl<F: FnMut(&[bool]) -> u64> Whole<F> {
    /// Returns the evaluation of a program with this number of sites.
    pub fn new(sites: usize, evaluate: F) -> Self {
        Self {
            fast: vec![false; sites],
            evaluate,
        }
    }
}

impl<F: FnMut(&[bool]) -> u64> Evaluation for Whole<F> {
    fn toggle(&mut self, site: usize) {
        self.fast[site] = !self.fast[site];
    }

    fn time(&mut self) -> u64 {
        (self.evaluate)(&self.fast)
    }
}

/// What is to be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The bytes of each site.
    pub bytes: Vec<u64>,
    /// The bytes of fast memory.
    pub fast: u64,
}

/// A placement that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The sites in fast memory, in the order in which they were chosen.
    pub chosen: Vec<usize>,
    /// The time of the program.
    pub time: u64,
    /// How often the time of the program was asked for.
    pub evaluations: u64,
}
