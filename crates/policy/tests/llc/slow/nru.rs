//! A reference bit a line.

use terrace_policy::llc::{Evicted, Geometry, Outcome, Request};

use super::Slow;

#[derive(Clone, Copy)]
struct Way {
    held: Evicted,
    referenced: bool,
}

pub struct Nru {
    ways: usize,
    sets: Vec<Vec<Way>>,
}

impl Nru {
    pub fn new(geometry: Geometry) -> Self {
        Self {
            ways: geometry.ways,
            sets: vec![Vec::new(); geometry.sets],
        }
    }
}

/// Sets the bit of a way; if no way of the whole set is without one, all others lose theirs.
fn reference(set: &mut [Way], ways: usize, referenced: usize) {
    set[referenced].referenced = true;
    if set.len() == ways && set.iter().all(|way| way.referenced) {
        for (at, way) in set.iter_mut().enumerate() {
            way.referenced = at == referenced;
        }
    }
}

impl Slow for Nru {
    fn access(&mut self, request: &Request) -> Outcome {
        let index = request.line % self.sets.len() as u64;
        let set = &mut self.sets[index as usize];
        let dirty = request.kind.writes();
        if let Some(at) = set.iter().position(|way| way.held.line == request.line) {
            set[at].held.dirty |= dirty;
            reference(set, self.ways, at);
            return Outcome::Hit { position: None };
        }
        let new = Way {
            held: Evicted {
                line: request.line,
                dirty,
            },
            referenced: false,
        };
        if set.len() < self.ways {
            set.push(new);
            let last = set.len() - 1;
            reference(set, self.ways, last);
            return Outcome::Miss { evicted: None };
        }
        // One way alone is always referenced.
        let at = set.iter().position(|way| !way.referenced).unwrap_or(0);
        let evicted = Some(std::mem::replace(&mut set[at], new).held);
        reference(set, self.ways, at);
        Outcome::Miss { evicted }
    }
}
