//! Laws that hold for every policy of the registry.

use std::collections::HashMap;

use proptest::prelude::*;
use terrace_policy::llc::{Cache, Outcome, Place, REGISTRY, Request};

use crate::requests::{cache, geometry, requests};

/// Sum of the answers: the lines that must be there, and whether they must be dirty.
#[derive(Default)]
struct Ledger {
    lines: HashMap<u64, bool>,
    hits: u64,
    misses: u64,
    bypasses: u64,
    /// Lines that were clean or absent when they were written.
    dirtied: u64,
    written_back: u64,
}

impl Ledger {
    fn enter(&mut self, request: &Request, outcome: Outcome) -> Result<(), TestCaseError> {
        let there = self.lines.contains_key(&request.line);
        let hit = matches!(outcome, Outcome::Hit { .. });
        prop_assert_eq!(hit, there, "a line stays until it is evicted");
        match outcome {
            Outcome::Hit { .. } => self.hits += 1,
            Outcome::Miss { evicted } => {
                self.misses += 1;
                if let Some(evicted) = evicted {
                    let dirty = self.lines.remove(&evicted.line);
                    prop_assert_eq!(dirty, Some(evicted.dirty), "no read cleans a line");
                    self.written_back += u64::from(evicted.dirty);
                }
            }
            Outcome::Bypassed { .. } => {
                self.bypasses += 1;
                return Ok(());
            }
            Outcome::Passed => unreachable!("the cache is not exclusive"),
        }
        let dirty = self.lines.entry(request.line).or_default();
        self.dirtied += u64::from(request.kind.writes() && !*dirty);
        *dirty |= request.kind.writes();
        Ok(())
    }

    fn balance(&self, cache: &Cache, accesses: usize) -> Result<(), TestCaseError> {
        let dirty = self.lines.values().filter(|&&dirty| dirty).count() as u64;
        prop_assert_eq!(self.hits + self.misses + self.bypasses, accesses as u64);
        prop_assert!(self.lines.len() <= cache.geometry().lines());
        prop_assert!(self.written_back <= self.dirtied);
        prop_assert_eq!(cache.dirty_lines(), dirty);
        prop_assert_eq!(self.dirtied, self.written_back + dirty);
        Ok(())
    }
}

proptest! {
    #[test]
    fn lines_and_writes_are_conserved(geometry in geometry(), seed: u64, requests in requests()) {
        for entry in REGISTRY {
            let mut cache = cache(geometry, entry.name, seed).unwrap();
            let mut ledger = Ledger::default();
            for (at, request) in requests.iter().enumerate() {
                let entered = ledger.enter(request, cache.access(request));
                prop_assert!(entered.is_ok(), "{} at {}: {:?}", entry.name, at, entered);
            }
            let balance = ledger.balance(&cache, requests.len());
            prop_assert!(balance.is_ok(), "{}: {:?}", entry.name, balance);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_outcomes(
        geometry in geometry(), seed: u64, requests in requests(),
    ) {
        for entry in REGISTRY {
            let mut first = cache(geometry, entry.name, seed).unwrap();
            let mut second = cache(geometry, entry.name, seed).unwrap();
            for request in &requests {
                let outcomes = (first.access(request), second.access(request));
                prop_assert_eq!(outcomes.0, outcomes.1, "{}", entry.name);
            }
        }
    }

    /// Requests served together have the same outcomes as one by one.
    #[test]
    fn requests_can_be_served_together(
        geometry in geometry(), seed: u64, requests in requests(), together in 1..40usize,
    ) {
        for entry in REGISTRY {
            let mut first = cache(geometry, entry.name, seed).unwrap();
            let mut second = cache(geometry, entry.name, seed).unwrap();
            let one_by_one: Vec<_> = requests.iter().map(|request| first.access(request)).collect();
            let mut outcomes = Vec::new();
            for requests in requests.chunks(together) {
                second.serve(requests, &mut outcomes);
            }
            prop_assert_eq!(&outcomes, &one_by_one, "{}", entry.name);
        }
    }

    #[test]
    fn a_full_set_loses_lines_of_its_own_only(
        geometry in geometry(), seed: u64, requests in requests(),
    ) {
        for entry in REGISTRY {
            let mut cache = cache(geometry, entry.name, seed).unwrap();
            let mut held = vec![0; geometry.sets];
            for request in &requests {
                let set = geometry.set_of(request.line);
                match cache.access(request) {
                    Outcome::Miss { evicted: None } => held[set] += 1,
                    Outcome::Miss { evicted: Some(evicted) } => {
                        prop_assert_eq!(geometry.set_of(evicted.line), set);
                        prop_assert_eq!(held[set], geometry.ways, "there was room");
                    }
                    Outcome::Bypassed { .. } => {
                        prop_assert_eq!(held[set], geometry.ways);
                        prop_assert!(cache.policy().bypasses(), "{}", entry.name);
                    }
                    Outcome::Hit { .. } => {}
                    Outcome::Passed => unreachable!("the cache is not exclusive"),
                }
            }
        }
    }

    /// Behind the high-hit ways where a policy has them, or else the last quarter.
    #[test]
    fn the_low_hit_part_is_the_end_of_the_order(
        geometry in geometry(), seed: u64, requests in requests(),
    ) {
        let ways = geometry.ways;
        let last_quarter = ways - ways.div_ceil(4);
        let named = REGISTRY.iter().map(|entry| entry.name);
        for spec in named.chain(["nhm:n=0", "ari:epoch=25", "ari:epoch=25,evict=lru"]) {
            let mut cache = cache(geometry, spec, seed).unwrap();
            for request in &requests {
                cache.access(request);
                let (set, policy) = (geometry.set_of(request.line), cache.policy());
                let high = match policy.in_force() {
                    Some(_) if spec.ends_with("evict=lru") => ways,
                    Some(in_force) => in_force.high,
                    None => last_quarter,
                };
                for place in (0..ways).map(|way| Place { set, way }) {
                    let Some(low) = policy.low_hit(place) else { continue };
                    let position = policy.position(place).unwrap();
                    // `dblk` has dead lines in it wherever they are.
                    prop_assert!(low == (position >= high) || low && spec == "dblk", "{}", spec);
                }
            }
        }
    }
}
