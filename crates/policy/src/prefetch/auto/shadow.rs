//! Record of what shadow predictors named, and of its hits.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::super::Prediction;
use crate::page::{Location, Memory, Residence, Space};

/// Predictions are recorded at one in this many faults.
const SAMPLE: u64 = 16;
/// Faults after which a named page that has not faulted counts as a miss of its prediction.
const HORIZON: u64 = 512;
/// Judged pages that are enough to report an accuracy.
const ENOUGH: u32 = 128;
/// Judged pages after which older ones count half.
const FADING: u32 = 1024;

/// Pages that were named and not fetched.
pub(super) struct Shadow {
    named: FxHashMap<Location, Named>,
    /// The named pages in the order of naming. All are judged at the same age: hits are known
    /// sooner than misses, and would count for more.
    order: VecDeque<Location>,
    candidates: Vec<Candidate>,
    faults: u64,
}

/// A named page.
struct Named {
    /// Candidates that named the page, one bit each.
    by: u64,
    /// Number of faults when the page was first named.
    since: u64,
    /// Whether the page has faulted since.
    hit: bool,
}

/// Figures of one candidate.
#[derive(Clone, Copy, Default)]
struct Candidate {
    hits: u32,
    judged: u32,
}

impl Shadow {
    pub(super) fn new(candidates: usize) -> Self {
        Self {
            named: FxHashMap::default(),
            order: VecDeque::new(),
            candidates: vec![Candidate::default(); candidates],
            faults: 0,
        }
    }

    /// Handles a demand fault: a hit for every candidate that named the page.
    pub(super) fn faulted(&mut self, at: Location) {
        self.faults += 1;
        if let Some(named) = self.named.get_mut(&at) {
            named.hit = true;
        }
        while let Some(oldest) = self.order.front() {
            match self.named.get(oldest) {
                Some(named) if named.since + HORIZON >= self.faults => return,
                Some(named) => self.judge(named.by, named.hit),
                None => {}
            }
            if let Some(oldest) = self.order.pop_front() {
                self.named.remove(&oldest);
            }
        }
    }

    /// Records, at some of the faults, what a candidate named that lies in the tier.
    pub(super) fn note(
        &mut self,
        candidate: usize,
        predictions: &[Prediction],
        memory: &mut dyn Memory,
    ) {
        if !self.faults.is_multiple_of(SAMPLE) {
            return;
        }
        for &at in predictions.iter().flat_map(|prediction| &prediction.pages) {
            if memory.residence(at) != Residence::InTier {
                continue;
            }
            let named = self.named.entry(at).or_insert_with(|| {
                self.order.push_back(at);
                Named {
                    by: 0,
                    since: self.faults,
                    hit: false,
                }
            });
            // A page that has faulted since was evicted again, which was not predicted.
            if !named.hit {
                named.by |= 1 << candidate;
            }
        }
    }

    fn judge(&mut self, by: u64, hit: bool) {
        for (index, candidate) in self.candidates.iter_mut().enumerate() {
            if by >> index & 1 == 1 {
                candidate.judged += 1;
                candidate.hits += u32::from(hit);
                if candidate.judged >= FADING {
                    candidate.judged /= 2;
                    candidate.hits /= 2;
                }
            }
        }
    }

    /// Returns the share of a candidate's named pages that faulted; `None` if too few were judged.
    pub(super) fn accuracy(&self, candidate: usize) -> Option<f64> {
        let Candidate { hits, judged } = self.candidates[candidate];
        (judged >= ENOUGH).then(|| f64::from(hits) / f64::from(judged))
    }

    /// Resets the figures of a candidate.
    pub(super) fn begin(&mut self, candidate: usize) {
        self.candidates[candidate] = Candidate::default();
    }

    /// Forgets an address space that has ended.
    pub(super) fn forget(&mut self, space: Space) {
        self.named.retain(|at, _| at.space != space);
        self.order.retain(|at| at.space != space);
    }
}
