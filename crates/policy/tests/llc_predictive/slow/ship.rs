//! Values rise one by one until one is the highest.

use std::collections::HashMap;

use terrace_policy::llc::{Choice, Geometry, LlcPolicy, Place, Request, Victim};
use terrace_policy::params::Params;

use super::{Instruction, instruction, sampled};

pub struct Ship {
    ways: usize,
    sampled: Vec<usize>,
    highest_counter: u32,
    highest_rrpv: u32,
    counters: HashMap<Instruction, u32>,
    lines: HashMap<Place, Line>,
}

struct Line {
    rrpv: u32,
    by: Option<Instruction>,
    used: bool,
}

impl Ship {
    pub fn new(geometry: Geometry, params: &mut Params) -> Self {
        let count = params
            .take("sampled", "", geometry.sets, 1..=geometry.sets.max(2))
            .unwrap();
        Self {
            ways: geometry.ways,
            sampled: sampled(geometry.sets, count),
            highest_counter: 2u32.pow(params.take("counter", "", 3, 1..=7).unwrap()) - 1,
            highest_rrpv: 2u32.pow(params.take("rrpv", "", 2, 1..=7).unwrap()) - 1,
            counters: HashMap::new(),
            lines: HashMap::new(),
        }
    }
}

impl LlcPolicy for Ship {
    fn hit(&mut self, place: Place, request: &Request) {
        if request.kind.writes() {
            return;
        }
        let line = self.lines.get_mut(&place).unwrap();
        line.rrpv = 0;
        if let Some(by) = line.by
            && self.sampled.contains(&place.set)
        {
            line.used = true;
            let counter = self.counters.entry(by).or_insert(1);
            *counter = (*counter + 1).min(self.highest_counter);
        }
    }

    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        loop {
            for way in 0..self.ways {
                if self.lines[&Place { set, way }].rrpv == self.highest_rrpv {
                    return Choice::Evict(way);
                }
            }
            for way in 0..self.ways {
                self.lines.get_mut(&Place { set, way }).unwrap().rrpv += 1;
            }
        }
    }

    fn fill(&mut self, place: Place, request: &Request) {
        if let Some(old) = self.lines.remove(&place)
            && let Some(by) = old.by
            && !old.used
            && self.sampled.contains(&place.set)
        {
            let counter = self.counters.entry(by).or_insert(1);
            *counter = counter.saturating_sub(1);
        }
        let by = (!request.kind.writes()).then(|| instruction(request));
        let trusted = by.is_none_or(|by| self.counters.get(&by) != Some(&0));
        let rrpv = self.highest_rrpv - u32::from(trusted);
        let used = false;
        self.lines.insert(place, Line { rrpv, by, used });
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    fn insert(&mut self, place: Place, request: &Request, victim: Victim) {
        self.fill(place, request);
        if victim.reused {
            self.lines.get_mut(&place).unwrap().rrpv = 0;
        }
    }
}
