//! One set as an LRU stack.

use terrace_policy::llc::{Evicted, Outcome};

/// The ways of a set, most recently used first. Empty ways are among them, at the end of a set
/// that never had another insertion than MRU.
#[derive(Clone)]
pub struct Stack(Vec<Option<Evicted>>);

impl Stack {
    pub fn new(ways: usize) -> Self {
        Self(vec![None; ways])
    }

    /// Serves a request. If the line is not there, the first empty way is filled, or else the one
    /// whose line a partitioning with `high` ways evicts; the line comes behind `insertion` others.
    pub fn access(&mut self, line: u64, writes: bool, high: usize, insertion: usize) -> Outcome {
        let found = self
            .0
            .iter()
            .position(|way| way.is_some_and(|way| way.line == line));
        if let Some(position) = found {
            let mut way = self.0.remove(position).unwrap();
            way.dirty |= writes;
            self.0.insert(0, Some(way));
            return Outcome::Hit {
                position: Some(position),
            };
        }
        let empty = self.0.iter().position(Option::is_none);
        let evicted = self.0.remove(empty.unwrap_or_else(|| self.candidate(high)));
        let new = Evicted {
            line,
            dirty: writes,
        };
        self.0.insert(insertion.min(self.0.len()), Some(new));
        Outcome::Miss { evicted }
    }

    /// Fedorov 2016, 2.2: a least recently used clean block in the low-hit partition; if there is
    /// none, the least recently used dirty one; if there is no low-hit block, the one at LRU.
    fn candidate(&self, high: usize) -> usize {
        let mut candidate = self.0.len() - 1;
        for position in (high..self.0.len()).rev() {
            if !self.0[position].unwrap().dirty {
                candidate = position;
                break;
            }
        }
        candidate
    }
}
