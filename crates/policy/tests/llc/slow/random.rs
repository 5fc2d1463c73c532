//! Random replacement: all ways are equally likely.

use terrace_policy::llc::{Evicted, Geometry, Outcome, Request};

use super::Slow;
use super::chance::Chance;

pub struct Random {
    ways: usize,
    sets: Vec<Vec<Evicted>>,
    chance: Chance,
}

impl Random {
    pub fn new(geometry: Geometry, seed: u64) -> Self {
        Self {
            ways: geometry.ways,
            sets: vec![Vec::new(); geometry.sets],
            chance: Chance::new(seed),
        }
    }
}

impl Slow for Random {
    fn access(&mut self, request: &Request) -> Outcome {
        let index = request.line % self.sets.len() as u64;
        let set = &mut self.sets[index as usize];
        let dirty = request.kind.writes();
        if let Some(way) = set.iter_mut().find(|way| way.line == request.line) {
            way.dirty |= dirty;
            return Outcome::Hit { position: None };
        }
        let new = Evicted {
            line: request.line,
            dirty,
        };
        if set.len() < self.ways {
            set.push(new);
            return Outcome::Miss { evicted: None };
        }
        let way = &mut set[self.chance.below(self.ways)];
        let evicted = Some(std::mem::replace(way, new));
        Outcome::Miss { evicted }
    }
}
