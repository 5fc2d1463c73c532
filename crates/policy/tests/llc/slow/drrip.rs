//! Re-reference intervals that grow one by one.

use terrace_policy::llc::{Evicted, Geometry, Outcome, Request};
use terrace_policy::params::Params;

use super::dip::Duel;
use super::{Slow, number};

#[derive(Clone, Copy)]
struct Way {
    held: Evicted,
    interval: usize,
}

pub struct Drrip {
    ways: usize,
    longest: usize,
    sets: Vec<Vec<Way>>,
    duel: Duel,
}

impl Drrip {
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Self {
        Self {
            ways: geometry.ways,
            longest: (1 << number(params, "bits", 2)) - 1,
            sets: vec![Vec::new(); geometry.sets],
            duel: Duel::new(geometry, params, seed),
        }
    }
}

/// Victim selection as the paper's figure has it: look for the longest interval from the first
/// way on; if there is none, let all grow by one and look again.
fn victim(set: &mut [Way], longest: usize) -> usize {
    loop {
        if let Some(way) = set.iter().position(|way| way.interval == longest) {
            return way;
        }
        set.iter_mut().for_each(|way| way.interval += 1);
    }
}

impl Slow for Drrip {
    fn access(&mut self, request: &Request) -> Outcome {
        let index = (request.line % self.sets.len() as u64) as usize;
        let set = &mut self.sets[index];
        let dirty = request.kind.writes();
        if let Some(way) = set.iter_mut().find(|way| way.held.line == request.line) {
            way.interval = 0;
            way.held.dirty |= dirty;
            return Outcome::Hit { position: None };
        }
        let far = self.duel.inserts_far(index);
        let new = Way {
            held: Evicted {
                line: request.line,
                dirty,
            },
            interval: if far { self.longest } else { self.longest - 1 },
        };
        if set.len() < self.ways {
            set.push(new);
            return Outcome::Miss { evicted: None };
        }
        let way = victim(set, self.longest);
        let evicted = Some(std::mem::replace(&mut set[way], new).held);
        Outcome::Miss { evicted }
    }
}
