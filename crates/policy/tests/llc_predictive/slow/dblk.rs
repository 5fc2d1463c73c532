//! One counter an instruction: where no two share any, all three tables count alike.

use std::collections::{HashMap, HashSet};

use terrace_policy::llc::{Choice, Geometry, LlcPolicy, Place, Request};
use terrace_policy::params::{ON_OFF, Params};

use super::{Instruction, instruction, sampled};

pub struct Dblk {
    sets: usize,
    sampled: Vec<usize>,
    entries: usize,
    threshold: u32,
    bypass: bool,
    counters: HashMap<Instruction, u32>,
    /// The entries of each sampled set, least recently used first.
    sampler: HashMap<usize, Vec<Entry>>,
    /// The ways of each set, least recently used first.
    used: HashMap<usize, Vec<usize>>,
    dead: HashSet<Place>,
}

struct Entry {
    line: u64,
    by: Instruction,
    dead: bool,
}

impl Dblk {
    pub fn new(geometry: Geometry, params: &mut Params) -> Self {
        let count = params.take("sampled", "", 32, 1..=64).unwrap();
        Self {
            sets: geometry.sets,
            sampled: sampled(geometry.sets, count),
            entries: params.take("entries", "", 12, 1..=64).unwrap(),
            threshold: params.take("threshold", "", 8, 1..=9).unwrap(),
            bypass: params.take("bypass", "", true, ON_OFF).unwrap(),
            counters: HashMap::new(),
            sampler: HashMap::new(),
            used: HashMap::new(),
            dead: HashSet::new(),
        }
    }

    fn kills(&self, by: Instruction) -> bool {
        3 * self.counters.get(&by).unwrap_or(&0) >= self.threshold
    }

    fn learn(&mut self, by: Instruction, dead: bool) {
        let counter = self.counters.entry(by).or_insert(0);
        *counter = match dead {
            true => (*counter + 1).min(3),
            false => counter.saturating_sub(1),
        };
    }

    fn touch(&mut self, place: Place, dead: bool) {
        let used = self.used.entry(place.set).or_default();
        used.retain(|way| *way != place.way);
        used.push(place.way);
        if dead {
            self.dead.insert(place);
        } else {
            self.dead.remove(&place);
        }
    }
}

impl LlcPolicy for Dblk {
    fn request(&mut self, set: usize, request: &Request) {
        assert_eq!(request.line as usize % self.sets, set);
        if !request.kind.reads() || !self.sampled.contains(&set) {
            return;
        }
        let entries = self.sampler.entry(set).or_default();
        let known = entries.iter().position(|entry| entry.line == request.line);
        let dead = entries.iter().position(|entry| entry.dead);
        if let Some(at) = known {
            let by = entries.remove(at).by;
            self.learn(by, false);
        } else if entries.len() == self.entries {
            let by = entries.remove(dead.unwrap_or(0)).by;
            self.learn(by, true);
        }
        let by = instruction(request);
        let entry = Entry {
            line: request.line,
            by,
            dead: self.kills(by),
        };
        self.sampler.get_mut(&set).unwrap().push(entry);
    }

    fn hit(&mut self, place: Place, request: &Request) {
        let dead = match request.kind.writes() {
            true => self.dead.contains(&place),
            false => self.kills(instruction(request)),
        };
        self.touch(place, dead);
    }

    fn choose(&mut self, set: usize, _: u64, request: &Request) -> Choice {
        if self.bypass && !request.kind.writes() && self.kills(instruction(request)) {
            return Choice::Bypass;
        }
        let used = &self.used[&set];
        let dead = |way: &&usize| self.dead.contains(&Place { set, way: **way });
        Choice::Evict(*used.iter().find(dead).unwrap_or(&used[0]))
    }

    fn fill(&mut self, place: Place, request: &Request) {
        let dead = !request.kind.writes() && self.kills(instruction(request));
        self.touch(place, dead);
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    fn take(&mut self, place: Place, _: &Request) {
        let used = self.used.get_mut(&place.set).unwrap();
        used.retain(|way| *way != place.way);
        self.dead.remove(&place);
    }
}
