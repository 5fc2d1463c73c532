//! Ages from the misses that a set had counted when a line was touched, and the reuse distance from
//! all hits there ever were.

use std::collections::HashMap;

use terrace_policy::llc::{Choice, Geometry, Kind, LlcPolicy, Place, Request, Victim};
use terrace_policy::params::Params;

use super::first_highest;

pub struct Rlr {
    ways: usize,
    oldest: u64,
    period: u64,
    write_is_prefetch: bool,
    misses: HashMap<usize, u64>,
    lines: HashMap<Place, Line>,
    /// How old each line was that a load or store hit.
    hits: Vec<u64>,
}

struct Line {
    /// Misses of the set when it was touched.
    touched: u64,
    demand: bool,
    hit: bool,
}

impl Rlr {
    pub fn new(geometry: Geometry, params: &mut Params) -> Self {
        let wb = [("demand", false), ("prefetch", true)];
        Self {
            ways: geometry.ways,
            oldest: 2u64.pow(params.take("age", "", 2, 1..=8).unwrap()) - 1,
            period: params.take("misses", "", 8, 1..=128).unwrap(),
            write_is_prefetch: params.take("wb", "", false, wb).unwrap(),
            misses: HashMap::new(),
            lines: HashMap::new(),
            hits: Vec::new(),
        }
    }

    fn age(&self, place: Place) -> u64 {
        let older = self.misses[&place.set] / self.period;
        (older - self.lines[&place].touched / self.period).min(self.oldest)
    }

    fn is_demand(&self, request: &Request) -> bool {
        match request.kind {
            Kind::Load | Kind::Store => true,
            Kind::WriteBack => !self.write_is_prefetch,
            Kind::Prefetch | Kind::CleanVictim => false,
        }
    }

    fn reuse_distance(&self) -> u64 {
        let averaged = self.hits.chunks_exact(32).last();
        averaged.map_or(0, |ages| 2 * ages.iter().sum::<u64>() / 32)
    }
}

impl LlcPolicy for Rlr {
    fn hit(&mut self, place: Place, request: &Request) {
        let (age, demand) = (self.age(place), self.is_demand(request));
        let touched = self.misses[&place.set];
        let line = self.lines.get_mut(&place).unwrap();
        line.touched = touched;
        line.demand = demand;
        if matches!(request.kind, Kind::Load | Kind::Store) {
            line.hit = true;
            self.hits.push(age);
        }
    }

    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        Choice::Evict(first_highest(self.ways, |way| {
            let place = Place { set, way };
            let line = &self.lines[&place];
            let p_age = u64::from(self.age(place) <= self.reuse_distance());
            let priority = 8 * p_age + u64::from(line.demand) + u64::from(line.hit);
            std::cmp::Reverse((priority, self.age(place)))
        }))
    }

    fn fill(&mut self, place: Place, request: &Request) {
        let demand = self.is_demand(request);
        let misses = self.misses.entry(place.set).or_insert(0);
        *misses += 1;
        let line = Line {
            touched: *misses,
            demand,
            hit: false,
        };
        self.lines.insert(place, line);
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    fn take(&mut self, place: Place, request: &Request) {
        let age = self.age(place);
        self.lines.remove(&place);
        if matches!(request.kind, Kind::Load | Kind::Store) {
            self.hits.push(age);
        }
    }

    fn pass(&mut self, set: usize, _: &Request) {
        *self.misses.entry(set).or_insert(0) += 1;
    }

    fn insert(&mut self, place: Place, request: &Request, victim: Victim) {
        let line = Line {
            touched: *self.misses.entry(place.set).or_insert(0),
            demand: self.is_demand(request),
            hit: victim.reused && self.is_demand(request),
        };
        self.lines.insert(place, line);
    }
}
