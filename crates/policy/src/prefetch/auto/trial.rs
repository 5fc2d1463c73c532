//! What predictors on trial have named, and what came of it.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::super::Prediction;
use crate::page::{Location, Memory, Residence, Space};

/// Of so many faults the predictions of one are noted: enough to judge by.
const SAMPLE: u64 = 16;
/// A page that has not faulted this many faults after it was named was named in vain.
const HORIZON: u64 = 512;
/// Judged pages that are enough for an opinion.
const ENOUGH: u32 = 128;
/// Judged pages after which older ones count half.
const FADING: u32 = 1024;

/// Pages that were named and not fetched.
pub(super) struct Trial {
    named: FxHashMap<Location, Named>,
    /// The same in the order of naming. All are judged at the same age: what was right is known
    /// sooner than what was wrong, and would count for more.
    order: VecDeque<Location>,
    candidates: Vec<Candidate>,
    faults: u64,
}

/// A page that was named.
struct Named {
    /// By whom, as bits.
    who: u64,
    /// Faults when it was named first.
    when: u64,
    /// Whether it has faulted since.
    hit: bool,
}

/// What came of what one of them named.
#[derive(Clone, Copy, Default)]
struct Candidate {
    hits: u32,
    judged: u32,
}

impl Trial {
    pub(super) fn new(candidates: usize) -> Self {
        Self {
            named: FxHashMap::default(),
            order: VecDeque::new(),
            candidates: vec![Candidate::default(); candidates],
            faults: 0,
        }
    }

    /// A demand fault happened: a hit for whoever named the page.
    pub(super) fn faulted(&mut self, at: Location) {
        self.faults += 1;
        if let Some(named) = self.named.get_mut(&at) {
            named.hit = true;
        }
        while let Some(oldest) = self.order.front() {
            match self.named.get(oldest) {
                Some(named) if named.when + HORIZON >= self.faults => return,
                Some(named) => self.judge(named.who, named.hit),
                None => {}
            }
            if let Some(oldest) = self.order.pop_front() {
                self.named.remove(&oldest);
            }
        }
    }

    /// A candidate has answered a fault; what lies in the tier of it is noted, now and then.
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
                    who: 0,
                    when: self.faults,
                    hit: false,
                }
            });
            // What has faulted since has been evicted again: that was not foreseen.
            if !named.hit {
                named.who |= 1 << candidate;
            }
        }
    }

    fn judge(&mut self, who: u64, hit: bool) {
        for (index, candidate) in self.candidates.iter_mut().enumerate() {
            if who >> index & 1 == 1 {
                candidate.judged += 1;
                candidate.hits += u32::from(hit);
                if candidate.judged >= FADING {
                    candidate.judged /= 2;
                    candidate.hits /= 2;
                }
            }
        }
    }

    /// The share of what a candidate named that was wanted; none where too little is known.
    pub(super) fn accuracy(&self, candidate: usize) -> Option<f64> {
        let Candidate { hits, judged } = self.candidates[candidate];
        (judged >= ENOUGH).then(|| f64::from(hits) / f64::from(judged))
    }

    /// Nothing is known of a candidate any more.
    pub(super) fn begin(&mut self, candidate: usize) {
        self.candidates[candidate] = Candidate::default();
    }

    /// The address space is gone.
    pub(super) fn forget(&mut self, space: Space) {
        self.named.retain(|at, _| at.space != space);
        self.order.retain(|at| at.space != space);
    }
}
