//! `vldp`: the longest known pattern of distances between faults predicts the next distance.
//!
//! Shevgoor et al., "Efficiently Prefetching Complex Address Patterns", MICRO 2015, as Fedorov
//! 2016, 5.4.4.4, uses it: on page faults, and looking ahead. The faults of a thread make a history
//! of distances in pages. A table for each pattern length holds what followed each pattern last,
//! and the longest pattern that ends the history is used. The predicted distance is appended to a
//! copy of the history, which is looked up again for the page after that, and so on. Each such step
//! is discounted by the observed accuracy (1 before any observation), and no step is made below the
//! threshold, except the first, so that there is something to observe.
//!
//! Learning: a pattern gains confidence with each right prediction and loses it with each wrong
//! one, and takes over the new distance when it has none left. After a wrong prediction the pattern
//! that is longer by one distance learns the new distance; if no pattern was known, the pattern of
//! one distance does. The threads of an address space share the tables.
//!
//! The paper's three tables and two-bit counters are kept. Its sizes are those of hardware: tables
//! of 64 entries, the histories of 16 physical pages, a table of 64 first offsets, four lines ahead
//! (as in github.com/bakhshalipour/Bingo, `prefetcher/vldp.llc_pref`; the authors' entry in the
//! second Data Prefetching Championship has four tables, 128 pages and counters up to 4). Memory is
//! cheap for a pager, so tables have 4096 entries. Omitted are histories by physical page (pages
//! here correspond to its lines, and address spaces to its pages), the first offsets, and the rule
//! that steps after the first need a pattern of two distances, which the chapter replaces by the
//! threshold.

use super::accuracy::Accuracy;
use super::answer::Answer;
use super::lru::Lru;
use super::threads::Threads;
use super::{Entry, Make, Outcome, Params, Prediction, Predictor, Source};
use crate::page::{Fault, Memory, Page, Space};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "vldp",
    summary: "the longest known pattern of distances between faults predicts the next (Fedorov 2016, 5.4.4.4)",
    paper: "Shevgoor et al., MICRO 2015; on page faults: Fedorov 2016, 5.4.4.4",
    when: "Programs with patterns of several distances that alternate, where one stride is not enough.",
    evidence: crate::registry::Evidence {
        open: "Sizes of tables for pages instead of lines: see the file.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::Online(&|params| Ok(Box::new(Vldp::new(params)?))),
};

/// Most distances in a pattern.
const LONGEST: usize = 4;
/// Most confidence of a pattern (a counter of two bits, as in the paper).
const CONFIDENT: u8 = 3;

/// Distances, the latest first; unknown distances at the end are 0.
type Distances = [i64; LONGEST];

/// State of one thread.
#[derive(Default)]
struct History {
    last: Option<Page>,
    distances: Distances,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pattern {
    space: Space,
    distances: Distances,
}

/// What followed a pattern.
struct Next {
    distance: i64,
    confidence: u8,
}

settings! {
    /// Settings of `vldp`.
    pub struct VldpSettings {
        /// distances of the longest pattern
        tables: usize = 3, 1..=LONGEST;
        /// patterns of each length that are remembered
        entries: usize = 4096, 1..=1 << 20;
        /// pages that are named at a fault, at most
        degree: usize = 16, 1..=512;
        /// accuracy below which it looks no further ahead
        threshold: f64 = 0.1, 0.0..=1.0;
    }
}

/// The `vldp` predictor. With its default settings it takes up to some 1.2 MB.
pub struct Vldp {
    settings: VldpSettings,
    threads: Threads<History>,
    /// Tables by pattern length, from 1 on.
    tables: Vec<Lru<Pattern, Next>>,
    accuracy: Accuracy,
}

impl Vldp {
    /// Makes a predictor with the given settings.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        let settings = VldpSettings::take(params)?;
        let table = |_| Lru::new(settings.entries);
        Ok(Self {
            settings,
            threads: Threads::new(),
            tables: (0..settings.tables).map(table).collect(),
            accuracy: Accuracy::assumed(1.0),
        })
    }

    /// Records the fault in its thread's history, and learns from it.
    fn note(&mut self, fault: &Fault) -> Distances {
        let page = fault.at.page;
        let history = self.threads.of(fault);
        let before = history.distances;
        let last = history.last.replace(page).unwrap_or(page);
        let distance = page.distance_from(last);
        if distance == 0 {
            return before;
        }
        let after = followed_by(before, distance);
        history.distances = after;
        self.learn(fault.at.space, before, distance);
        after
    }

    fn learn(&mut self, space: Space, before: Distances, distance: i64) {
        let known = self.longest(space, before);
        if let Some((length, _)) = known {
            let pattern = pattern(space, before, length);
            if self.correct(length, pattern, distance) {
                return;
            }
        }
        let length = known.map_or(1, |(length, _)| length + 1);
        if let (Some(pattern), Some(table)) = (
            pattern(space, before, length),
            self.tables.get_mut(length - 1),
        ) {
            let confidence = 0;
            table.touch_or_insert(pattern, || Next {
                distance,
                confidence,
            });
        }
    }

    /// Updates a known pattern with the distance that followed; returns whether it had predicted
    /// it.
    fn correct(&mut self, length: usize, pattern: Option<Pattern>, distance: i64) -> bool {
        let Some(next) = pattern.and_then(|pattern| self.tables[length - 1].touch(&pattern)) else {
            return false;
        };
        let right = next.distance == distance;
        match (right, next.confidence) {
            (true, confidence) => next.confidence = (confidence + 1).min(CONFIDENT),
            (false, 0 | 1) => (next.distance, next.confidence) = (distance, 0),
            (false, _) => next.confidence -= 1,
        }
        right
    }

    /// Returns the length of the longest known pattern that ends a history, and the predicted
    /// distance.
    fn longest(&self, space: Space, distances: Distances) -> Option<(usize, i64)> {
        (1..=self.tables.len()).rev().find_map(|length| {
            let pattern = pattern(space, distances, length)?;
            let next = self.tables[length - 1].peek(&pattern)?;
            Some((length, next.distance))
        })
    }
}

/// Returns the pattern of the latest `length` distances, if there are as many.
fn pattern(space: Space, mut distances: Distances, length: usize) -> Option<Pattern> {
    if length > LONGEST || distances[length - 1] == 0 {
        return None;
    }
    distances[length..].fill(0);
    Some(Pattern { space, distances })
}

fn followed_by(mut distances: Distances, distance: i64) -> Distances {
    distances.rotate_right(1);
    distances[0] = distance;
    distances
}

impl Predictor for Vldp {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let mut distances = self.note(fault);
        let mut answer = Answer::new(fault, self.settings.degree);
        let mut page = fault.at.page;
        let mut value = 1.0;
        for _ in 0..self.settings.degree {
            let Some((_, distance)) = self.longest(fault.at.space, distances) else {
                break;
            };
            let Some(next) = page.at_distance(distance) else {
                break;
            };
            page = next;
            answer.add(Some(page));
            distances = followed_by(distances, distance);
            value *= self.accuracy.share();
            if value < self.settings.threshold {
                break;
            }
        }
        predictions.extend(answer.of(Source(0)));
    }

    fn outcome(&mut self, _: Source, outcome: Outcome) {
        self.accuracy.count(outcome);
    }

    fn forget(&mut self, space: Space) {
        self.threads.forget(space);
        for table in &mut self.tables {
            table.retain(|pattern, _| pattern.space != space);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{SPACE, answers};

    fn new(params: &str) -> Vldp {
        Vldp::new(&mut Params::parse(params).unwrap()).unwrap()
    }

    #[test]
    fn a_pattern_that_comes_again_is_known() {
        // Distances 2 3 -1, 2 3 -1: after the second 2 the rest is foretold, around and around.
        let mut vldp = new("degree=5");
        let answers = answers(&mut vldp, &[4, 6, 9, 8, 10, 13, 12]);
        assert!(answers[..4].iter().all(Vec::is_empty));
        assert_eq!(answers[4], [13, 12, 14, 17, 16]);
        assert_eq!(answers[6], [14, 17, 16, 18, 21]);
    }

    #[test]
    fn the_longest_pattern_wins() {
        // 1 1 5 over and over: after one 1 comes 1 or 5, the distance before it tells which.
        let pages = [0, 1, 2, 7, 8, 9, 14, 15, 16, 21, 22];
        assert_eq!(answers(&mut new("degree=3"), &pages)[10], [23, 28, 29]);
        assert_eq!(answers(&mut new("tables=1"), &pages[..10])[8][0], 17);
    }

    #[test]
    fn what_serves_badly_looks_less_far_ahead() {
        let mut vldp = new("threshold=0.3");
        let pages: Vec<u64> = (0..10).collect();
        assert_eq!(answers(&mut vldp, &pages)[9].len(), 16);
        for _ in 0..64 {
            vldp.outcome(Source(0), Outcome::Wasted);
        }
        // (63/64)^64 is 0.365: a second step, but no third.
        assert_eq!(answers(&mut vldp, &[10])[0], [11, 12]);
    }

    #[test]
    fn an_address_space_that_ends_is_forgotten() {
        let mut vldp = new("");
        answers(&mut vldp, &[1, 2, 3, 4]);
        vldp.forget(SPACE);
        assert!(answers(&mut vldp, &[5, 6])[1].is_empty());
    }
}
