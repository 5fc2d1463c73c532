//! Static partitionings; LRU is one with all ways in the high-hit partition.

use terrace_policy::llc::{Geometry, InForce, Outcome, Request};
use terrace_policy::params::Params;

use super::stack::Stack;
use super::{Slow, is, number};

pub struct Nhm {
    sets: Vec<Stack>,
    high: usize,
    clean_low: bool,
    dirty_low: bool,
    is_lru: bool,
}

impl Nhm {
    pub fn new(geometry: Geometry, params: &mut Params) -> Self {
        Self {
            high: number(params, "n", geometry.ways / 4),
            clean_low: is(params, "insert", "lh"),
            dirty_low: is(params, "dirty", "lh"),
            is_lru: false,
            ..Self::lru(geometry)
        }
    }

    pub fn lru(geometry: Geometry) -> Self {
        Self {
            sets: vec![Stack::new(geometry.ways); geometry.sets],
            high: geometry.ways,
            clean_low: false,
            dirty_low: false,
            is_lru: true,
        }
    }
}

impl Slow for Nhm {
    fn access(&mut self, request: &Request) -> Outcome {
        let set = request.line % self.sets.len() as u64;
        let writes = request.kind.writes();
        let low = if writes {
            self.dirty_low
        } else {
            self.clean_low
        };
        let insertion = if low { self.high } else { 0 };
        self.sets[set as usize].access(request.line, writes, self.high, insertion)
    }

    fn in_force(&self) -> Option<InForce> {
        (!self.is_lru).then_some(InForce {
            high: self.high,
            low_insertion: self.clean_low,
        })
    }
}
