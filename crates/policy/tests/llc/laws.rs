//! Laws that hold for every policy of the registry.

use std::collections::HashMap;

use proptest::prelude::*;
use terrace_policy::llc::{Cache, Outcome, REGISTRY, Request};

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
            Outcome::Bypassed => {
                self.bypasses += 1;
                return Ok(());
            }
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
                    Outcome::Bypassed => {
                        prop_assert_eq!(held[set], geometry.ways);
                        prop_assert!(cache.policy().bypasses(), "{}", entry.name);
                    }
                    Outcome::Hit { .. } => {}
                }
            }
        }
    }
}
