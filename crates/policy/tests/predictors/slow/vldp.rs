//! Patterns of distances in plain lists.

use terrace_policy::prefetch::{Outcome, Params, Prediction, Predictor, Source};
use terrace_policy::{Fault, Memory, Space};

use super::{Event, History, answer, distance, go};

struct Known {
    space: Space,
    /// The latest distance last.
    pattern: Vec<i64>,
    next: i64,
    confidence: u8,
}

pub struct Vldp {
    degree: usize,
    entries: usize,
    threshold: f64,
    history: History,
    outcomes: Vec<Outcome>,
    /// Tables by length; in each the entry that learnt last comes last.
    tables: Vec<Vec<Known>>,
}

impl Vldp {
    pub fn new(params: &mut Params) -> Self {
        let tables = params.take("tables", "", 3, 1..=4).unwrap();
        Self {
            degree: params.take("degree", "", 16, 1..=512).unwrap(),
            entries: params.take("entries", "", 4096, 1..=1 << 20).unwrap(),
            threshold: params.take("threshold", "", 0.1, 0.0..=1.0).unwrap(),
            history: History::default(),
            outcomes: Vec::new(),
            tables: (0..tables).map(|_| Vec::new()).collect(),
        }
    }

    fn find(&self, space: Space, pattern: &[i64]) -> Option<usize> {
        let table = self.tables.get(pattern.len() - 1)?;
        let is = |known: &Known| known.space == space && known.pattern == pattern;
        table.iter().position(is)
    }

    /// Table and place of the longest pattern that ends these distances.
    fn longest(&self, space: Space, distances: &[i64]) -> Option<(usize, usize)> {
        let longest = self.tables.len().min(distances.len());
        (1..=longest).rev().find_map(|length| {
            let place = self.find(space, &distances[distances.len() - length..])?;
            Some((length - 1, place))
        })
    }

    fn learn(&mut self, space: Space, distances: &[i64], next: i64) {
        let mut new = 1;
        if let Some((table, place)) = self.longest(space, distances) {
            let mut known = self.tables[table].remove(place);
            let right = known.next == next;
            if right {
                known.confidence = (known.confidence + 1).min(3);
            } else {
                known.confidence = known.confidence.saturating_sub(1);
                if known.confidence == 0 {
                    known.next = next;
                }
            }
            self.tables[table].push(known);
            if right {
                return;
            }
            new = table + 2;
        }
        if new <= self.tables.len() && new <= distances.len() {
            let table = &mut self.tables[new - 1];
            table.push(Known {
                space,
                pattern: distances[distances.len() - new..].to_vec(),
                next,
                confidence: 0,
            });
            if table.len() > self.entries {
                table.remove(0);
            }
        }
    }

    fn accuracy(&self) -> f64 {
        self.outcomes.iter().fold(1.0, |accuracy, outcome| {
            let used = f64::from(u8::from(*outcome != Outcome::Wasted));
            accuracy + (used - accuracy) / 64.0
        })
    }
}

impl Predictor for Vldp {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let space = fault.at.space;
        let known = self.history.pages_before(fault).len();
        self.history.0.push(Event::Fault(*fault));
        let mut pages = self.history.pages_before(fault);
        pages.reverse();
        let mut distances: Vec<i64> = pages.windows(2).map(|p| distance(p[0], p[1])).collect();
        if known > 0
            && pages.len() > known
            && let Some((latest, before)) = distances.split_last()
        {
            self.learn(space, before, *latest);
        }
        let mut named = Vec::new();
        let mut page = fault.at.page.0;
        let mut value = 1.0;
        while named.len() < self.degree && (named.is_empty() || value >= self.threshold) {
            let Some((table, place)) = self.longest(space, &distances) else {
                break;
            };
            let next = self.tables[table][place].next;
            let Some(to) = go(page, next, 1) else {
                break;
            };
            page = to;
            named.push(Some(page));
            distances.push(next);
            value *= self.accuracy();
        }
        answer(fault, named, self.degree, 0, predictions);
    }

    fn outcome(&mut self, _: Source, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    fn forget(&mut self, space: Space) {
        for table in &mut self.tables {
            table.retain(|known| known.space != space);
        }
        self.history.0.push(Event::Forget(space));
    }
}
