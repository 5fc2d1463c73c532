//! LRU and bimodal insertion, and which of them misses less.

use terrace_policy::llc::{Geometry, Outcome, Request};
use terrace_policy::params::Params;

use super::chance::drawn_sets;
use super::stack::Stack;
use super::{Slow, number};

/// A duel of two policies, whatever these do.
pub struct Duel {
    /// Leaders of the first policy, of the second, of the first and so on.
    leaders: Vec<usize>,
    /// Misses of the first policy's leaders less misses of the second's, within bounds.
    balance: i64,
    half: i64,
    every: usize,
    bimodal: usize,
}

impl Duel {
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Self {
        let leaders = number(params, "leaders", 32.min(geometry.sets / 2));
        Self {
            leaders: drawn_sets(geometry.sets, 2 * leaders, seed),
            balance: -1,
            half: 1 << (number(params, "psel", 10) - 1),
            every: number(params, "every", 32),
            bimodal: 0,
        }
    }

    /// After a miss in a set: whether the second policy inserts the line there, and as unlikely to
    /// be used again as it does all but every nth time.
    pub fn inserts_far(&mut self, set: usize) -> bool {
        let second = match self.leaders.iter().position(|&leader| leader == set) {
            Some(leader) if leader % 2 == 0 => {
                self.balance = (self.balance + 1).min(self.half - 1);
                false
            }
            Some(_) => {
                self.balance = (self.balance - 1).max(-self.half);
                true
            }
            None => self.balance >= 0,
        };
        if second {
            self.bimodal += 1;
        }
        second && !self.bimodal.is_multiple_of(self.every)
    }
}

pub struct Dip {
    ways: usize,
    sets: Vec<Stack>,
    duel: Duel,
}

impl Dip {
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Self {
        Self {
            ways: geometry.ways,
            sets: vec![Stack::new(geometry.ways); geometry.sets],
            duel: Duel::new(geometry, params, seed),
        }
    }
}

impl Slow for Dip {
    fn access(&mut self, request: &Request) -> Outcome {
        let index = (request.line % self.sets.len() as u64) as usize;
        let (set, ways) = (&mut self.sets[index], self.ways);
        let serve = |set: &mut Stack, at| set.access(request.line, request.kind.writes(), ways, at);
        let mut tried = set.clone();
        let outcome = serve(&mut tried, 0);
        if let Outcome::Miss { .. } = outcome
            && self.duel.inserts_far(index)
        {
            return serve(set, ways);
        }
        *set = tried;
        outcome
    }
}
