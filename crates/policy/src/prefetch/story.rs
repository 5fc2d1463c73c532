//! The life story of predictions: what became of each (Fedorov 2016, figures 5.12 and 5.13), and by
//! which part of a combination it was named (figure 5.10).

use std::ops::Sub;

use super::Outcome;

/// How many predictions ended which way. Every prediction is counted in `predicted` once
/// and in exactly one of the ends; `queued` and `outstanding` are those that have not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LifeStory {
    /// Pages that predictors named.
    pub predicted: u64,
    /// Dropped before the queue: in memory, in flight, or not in the tier.
    pub filtered: u64,
    /// Pushed out of the secondary queue by newer ones, or their space ended.
    pub wiped: u64,
    /// Found in memory when their turn came.
    pub in_memory: u64,
    /// Handed to the driver to fetch.
    pub issued: u64,
    /// Fetched and touched after they had arrived.
    pub used: u64,
    /// Touched before they had arrived.
    pub late: u64,
    /// Evicted, or their program ended, before they were touched.
    pub wasted: u64,
}

/// The life story of the pages that certain constituents of a combination named, and no others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constituent {
    /// Their names, with `+` between them: `spatial`, `spatial+temporal`.
    pub names: String,
    /// What became of these pages.
    pub story: LifeStory,
}

/// The story of all predictions, and those of the constituents that named them.
#[derive(Debug, Default)]
pub(super) struct Stories {
    pub(super) all: LifeStory,
    /// By the constituents, as bits; where there are none, nothing.
    parts: Vec<(u8, LifeStory)>,
}

impl Stories {
    /// Goes on with the story, and that of these constituents.
    pub(super) fn tell(&mut self, by: u8, event: impl Fn(&mut LifeStory)) {
        event(&mut self.all);
        if by == 0 {
            return;
        }
        match self.parts.iter_mut().find(|(known, _)| *known == by) {
            Some((_, story)) => event(story),
            None => {
                let mut story = LifeStory::default();
                event(&mut story);
                self.parts.push((by, story));
            }
        }
    }

    /// Of each set of constituents that named a page, in the order of `names`: one alone before
    /// several.
    pub(super) fn parts(&self, names: &[&str]) -> Vec<Constituent> {
        let mut parts = self.parts.clone();
        parts.sort_by_key(|(by, _)| (by.count_ones(), *by));
        let named = |by: u8| {
            let bits = names.iter().enumerate().filter(|(at, _)| by >> at & 1 != 0);
            bits.map(|(_, name)| *name).collect::<Vec<_>>().join("+")
        };
        let part = |(by, story)| Constituent {
            names: named(by),
            story,
        };
        parts.into_iter().map(part).collect()
    }
}

impl Sub for LifeStory {
    type Output = Self;

    /// What was added since `earlier`.
    fn sub(self, earlier: Self) -> Self {
        Self {
            predicted: self.predicted - earlier.predicted,
            filtered: self.filtered - earlier.filtered,
            wiped: self.wiped - earlier.wiped,
            in_memory: self.in_memory - earlier.in_memory,
            issued: self.issued - earlier.issued,
            used: self.used - earlier.used,
            late: self.late - earlier.late,
            wasted: self.wasted - earlier.wasted,
        }
    }
}

impl LifeStory {
    /// Counts the end of one fetched page.
    pub fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Used => self.used += 1,
            Outcome::Late => self.late += 1,
            Outcome::Wasted => self.wasted += 1,
        }
    }

    /// The share of the fetched pages whose end is known that were touched; none where there is
    /// no such page.
    pub fn accuracy(&self) -> Option<f64> {
        share(self.used + self.late, self.wasted)
    }

    /// The share of the misses that there would have been that were foreseen, where `missed` were
    /// not, nor were under way.
    pub fn coverage(&self, missed: u64) -> Option<f64> {
        share(self.used + self.late, missed)
    }

    /// The share of the touched pages that had arrived by then.
    pub fn timeliness(&self) -> Option<f64> {
        share(self.used, self.late)
    }

    /// Fetched pages whose end is not known yet.
    pub fn outstanding(&self) -> u64 {
        self.issued - self.used - self.late - self.wasted
    }

    /// Hints that still wait in the secondary queue.
    pub fn queued(&self) -> u64 {
        self.predicted - self.filtered - self.wiped - self.in_memory - self.issued
    }
}

/// `part` of `part` and `rest` together.
fn share(part: u64, rest: u64) -> Option<f64> {
    let all = part + rest;
    (all > 0).then(|| part as f64 / all as f64)
}
