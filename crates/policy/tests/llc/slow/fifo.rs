//! First in, first out: a queue a set.

use std::collections::VecDeque;

use terrace_policy::llc::{Evicted, Geometry, Outcome, Request};

use super::Slow;

pub struct Fifo {
    ways: usize,
    sets: Vec<VecDeque<Evicted>>,
}

impl Fifo {
    pub fn new(geometry: Geometry) -> Self {
        Self {
            ways: geometry.ways,
            sets: vec![VecDeque::new(); geometry.sets],
        }
    }
}

impl Slow for Fifo {
    fn access(&mut self, request: &Request) -> Outcome {
        let index = request.line % self.sets.len() as u64;
        let set = &mut self.sets[index as usize];
        let dirty = request.kind.writes();
        if let Some(held) = set.iter_mut().find(|held| held.line == request.line) {
            held.dirty |= dirty;
            return Outcome::Hit { position: None };
        }
        let evicted = match set.len() == self.ways {
            true => set.pop_front(),
            false => None,
        };
        set.push_back(Evicted {
            line: request.line,
            dirty,
        });
        Outcome::Miss { evicted }
    }
}
