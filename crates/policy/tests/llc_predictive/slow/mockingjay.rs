//! Distances in a map, the sampled cache as lists, whole tags.

use std::collections::HashMap;

use terrace_policy::llc::{Choice, Geometry, Kind, LlcPolicy, Place, Request, Victim};
use terrace_policy::params::{ON_OFF, Params};

use super::{Instruction, first_highest, instruction, sampled};

/// An instruction, whether it asks ahead, and whether it hit.
type Signature = (Instruction, bool, bool);

pub struct Mockingjay {
    geometry: Geometry,
    sampled: Vec<usize>,
    bypass: bool,
    furthest: i64,
    distances: HashMap<Signature, i64>,
    /// By sampled set and lowest bits of the tag, least recently used first.
    sampler: HashMap<(usize, u64), Vec<Entry>>,
    /// Loads and stores of each set.
    requests: HashMap<usize, i64>,
    etrs: HashMap<Place, i64>,
    exclusive: bool,
}

struct Entry {
    line: u64,
    by: Signature,
    at: i64,
}

impl Mockingjay {
    pub fn new(geometry: Geometry, params: &mut Params) -> Self {
        let lines = geometry.sets * geometry.ways;
        let count = params
            .take("sampled", "", (lines / 1024).max(1), 1..=64)
            .unwrap();
        let _ = params.take("signature", "", 11, 1..=16).unwrap();
        Self {
            geometry,
            sampled: sampled(geometry.sets, count),
            bypass: params.take("bypass", "", true, ON_OFF).unwrap(),
            furthest: 8 * geometry.ways as i64 - 1,
            distances: HashMap::new(),
            sampler: HashMap::new(),
            requests: HashMap::new(),
            etrs: HashMap::new(),
            exclusive: false,
        }
    }

    fn never(&self) -> i64 {
        self.geometry.ways as i64 - 1
    }

    fn is_never(&self, distance: i64) -> bool {
        distance > self.furthest - 22 * self.geometry.ways as i64 / 16
    }

    fn unused(&mut self, by: Signature) {
        let distance = self.distances.entry(by).or_insert(self.furthest);
        *distance = (*distance + 1).min(self.furthest);
    }

    fn used(&mut self, by: Signature, after: i64) {
        let distance = self.distances.entry(by).or_insert(after);
        *distance = (*distance + ((after - *distance) / 16).signum()).min(self.furthest);
    }

    fn sample(&mut self, set: usize, line: u64, by: Signature) {
        let now = self.requests[&set];
        let small = (set, line / self.geometry.sets as u64 % 16);
        let entries = self.sampler.entry(small).or_default();
        let (near, far): (Vec<Entry>, Vec<Entry>) = entries
            .drain(..)
            .partition(|entry| now - entry.at <= self.furthest);
        let (known, mut rest): (Vec<Entry>, Vec<Entry>) =
            near.into_iter().partition(|entry| entry.line == line);
        let (_, ahead, _) = by;
        for entry in known {
            let after = now - entry.at;
            self.used(entry.by, if ahead { 2 * after } else { after });
        }
        for entry in far {
            self.unused(entry.by);
        }
        if rest.len() == 5 {
            self.unused(rest.remove(0).by);
        }
        rest.push(Entry { line, by, at: now });
        self.sampler.insert(small, rest);
    }

    fn hear(&mut self, set: usize, way: Option<usize>, by: Signature, line: u64) {
        self.requests.entry(set).or_insert(0);
        if self.sampled.contains(&set) {
            self.sample(set, line, by);
        }
        let requests = self.requests.get_mut(&set).unwrap();
        *requests += 1;
        if *requests % 8 == 0 {
            let never = self.never();
            for (place, etr) in &mut self.etrs {
                if place.set == set && Some(place.way) != way && etr.abs() < never {
                    *etr -= 1;
                }
            }
        }
    }

    fn touch(&mut self, place: Place, request: &Request, hit: bool) {
        let by = by(request, hit);
        self.hear(place.set, Some(place.way), by, request.line);
        self.estimate(place, by);
    }

    fn estimate(&mut self, place: Place, by: Signature) {
        let etr = match self.distances.get(&by) {
            None => 0,
            Some(distance) if self.is_never(*distance) => self.never(),
            Some(distance) => distance / 8,
        };
        self.etrs.insert(place, etr);
    }
}

fn by(request: &Request, hit: bool) -> Signature {
    (instruction(request), request.kind == Kind::Prefetch, hit)
}

impl LlcPolicy for Mockingjay {
    fn hit(&mut self, place: Place, request: &Request) {
        if !request.kind.writes() {
            self.touch(place, request, true);
        }
    }

    fn choose(&mut self, set: usize, _: u64, request: &Request) -> Choice {
        let etr = |way| self.etrs[&Place { set, way }];
        let way = first_highest(self.geometry.ways, |way| (etr(way).abs(), etr(way) < 0));
        let by = by(request, false);
        let distance = self.distances.get(&by).copied().unwrap_or(0);
        let later = self.is_never(distance) || distance / 8 > etr(way).abs();
        if self.bypass && !request.kind.writes() && later {
            if !self.exclusive {
                self.hear(set, None, by, request.line);
            }
            return Choice::Bypass;
        }
        Choice::Evict(way)
    }

    fn fill(&mut self, place: Place, request: &Request) {
        if request.kind.writes() {
            self.etrs.insert(place, -self.never());
        } else {
            self.touch(place, request, false);
        }
    }

    fn go_exclusive(&mut self) -> bool {
        self.exclusive = true;
        true
    }

    fn take(&mut self, place: Place, request: &Request) {
        self.etrs.remove(&place);
        self.hear(place.set, None, by(request, true), request.line);
    }

    fn pass(&mut self, set: usize, request: &Request) {
        self.hear(set, None, by(request, false), request.line);
    }

    fn insert(&mut self, place: Place, request: &Request, victim: Victim) {
        self.estimate(place, by(request, victim.reused));
    }
}
