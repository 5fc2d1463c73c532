//! `vldp`: the longest known pattern of distances between faults says which comes next.
//!
//! Shevgoor et al., "Efficiently Prefetching Complex Address Patterns", MICRO 2015, as Fedorov
//! 2016, 5.4.4.4, uses it: on page faults, and looking ahead. A thread's faults make a history of
//! distances, in pages. There is a table for every length of a pattern; what followed a pattern
//! last is in it, and the longest pattern that ends the history wins. The distance foretold is put
//! behind a copy of the history, which is looked up again: that gives the page after, and so on.
//! Each such step is discounted by the accuracy observed (it is taken for 1 before anything is
//! observed), and below the threshold none is made; the first is, so that there is something to
//! observe.
//!
//! Learning: the pattern that foretold gains confidence by being right and loses it by being
//! wrong, and takes over the new distance when it has none left. Where it was wrong, the pattern
//! longer by one distance learns the new one; where no pattern was known, that of one distance.
//! The tables are shared by the threads of an address space.
//!
//! The paper's three tables and counters of two bits are kept. Its sizes are those of hardware:
//! tables of 64 entries, the histories of 16 physical pages, a table of 64 first offsets, four lines
//! ahead (as in github.com/bakhshalipour/Bingo, `prefetcher/vldp.llc_pref`; the authors' entry in the
//! second Data Prefetching Championship has four tables, 128 pages and counters up to 4). Memory
//! costs a pager little, so tables have 4096 entries. The histories by physical page (our pages are
//! what its lines are, and an address space what its pages are) and the first offsets stay behind;
//! so does its rule that steps after the first need a pattern of two distances, in place of which
//! the chapter has the threshold.

use super::accuracy::Accuracy;
use super::answer::Answer;
use super::lru::Lru;
use super::threads::Threads;
use super::{Outcome, Params, Prediction, Predictor, Source};
use crate::page::{Fault, Memory, Page, Space};

/// The longest pattern there may be.
const LONGEST: usize = 4;
/// So confident a pattern can be (a counter of two bits, as in the paper).
const CONFIDENT: u8 = 3;

/// Distances, the latest first; behind those that are known it is 0, which is no distance.
type Distances = [i64; LONGEST];

/// What is known of one thread.
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

/// The predictor. With its default settings it takes up to some 1.2 MB.
pub struct Vldp {
    /// Most pages after a fault.
    degree: usize,
    /// Steps of less value are not made.
    threshold: f64,
    threads: Threads<History>,
    /// By the length of their patterns, from 1 on.
    tables: Vec<Lru<Pattern, Next>>,
    accuracy: Accuracy,
}

impl Vldp {
    /// Takes its settings.
    ///
    /// # Errors
    /// A sentence where one is out of range.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        let tables = params.number("tables", 3, 1..=LONGEST)?;
        let entries = params.number("entries", 4096, 1..=1 << 20)?;
        Ok(Self {
            degree: params.number("degree", 16, 1..=512)?,
            threshold: params.number("threshold", 0.1, 0.0..=1.0)?,
            threads: Threads::new(),
            tables: (0..tables).map(|_| Lru::new(entries)).collect(),
            accuracy: Accuracy::assumed(1.0),
        })
    }

    /// Notes the fault in its thread's history, and learns what followed what.
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

    /// Tells a known pattern what has followed; whether it had foretold that.
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

    /// The longest known pattern that ends a history: its length, and what follows it.
    fn longest(&self, space: Space, distances: Distances) -> Option<(usize, i64)> {
        (1..=self.tables.len()).rev().find_map(|length| {
            let pattern = pattern(space, distances, length)?;
            let next = self.tables[length - 1].peek(&pattern)?;
            Some((length, next.distance))
        })
    }
}

/// The latest `length` distances, if there are so many.
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
        let mut answer = Answer::new(fault, self.degree);
        let mut page = fault.at.page;
        let mut value = 1.0;
        for _ in 0..self.degree {
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
            if value < self.threshold {
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
