//! The optimum knows the future: it does as a slow twin that looks for it, and nothing misses less
//! often.

use std::collections::BTreeSet;

use proptest::prelude::*;
use terrace_policy::llc::{Cache, Evicted, Geometry, Outcome, REGISTRY, Request};

use crate::requests::{cache, geometry, requests};

/// A cache that searches the requests to come whenever it has to choose.
struct Slow<'a> {
    requests: &'a [Request],
    geometry: Geometry,
    bypasses: bool,
    sets: Vec<Vec<Evicted>>,
}

impl Slow<'_> {
    /// Returns the number of the next request for a line after request `at`, or a number behind the
    /// last.
    fn next(&self, line: u64, at: usize) -> usize {
        let mut later = self.requests.iter().skip(at + 1);
        let until = later.position(|request| request.line == line);
        until.map_or(usize::MAX, |until| at + 1 + until)
    }

    fn access(&mut self, at: usize) -> Outcome {
        let Request { line, kind, .. } = self.requests[at];
        let set = (line % self.geometry.sets as u64) as usize;
        let dirty = kind.writes();
        if let Some(held) = self.sets[set].iter_mut().find(|held| held.line == line) {
            held.dirty |= dirty;
            return Outcome::Hit { position: None };
        }
        let new = Evicted { line, dirty };
        if self.sets[set].len() < self.geometry.ways {
            self.sets[set].push(new);
            return Outcome::Miss { evicted: None };
        }
        let uses: Vec<usize> = self.sets[set]
            .iter()
            .map(|held| self.next(held.line, at))
            .collect();
        let furthest = *uses.iter().max().unwrap();
        if self.bypasses && self.next(line, at) >= furthest {
            return Outcome::Bypassed { written: dirty };
        }
        let alike = (0..uses.len()).filter(|way| uses[*way] == furthest);
        let alike: Vec<usize> = alike.collect();
        let clean = alike.iter().rfind(|way| !self.sets[set][**way].dirty);
        let way = *clean.unwrap_or(alike.last().unwrap());
        let evicted = std::mem::replace(&mut self.sets[set][way], new);
        Outcome::Miss {
            evicted: Some(evicted),
        }
    }
}

/// Serves all requests, and returns how many were for lines that were not there.
fn misses(cache: &mut Cache, requests: &[Request]) -> usize {
    cache.foresee(&mut requests.iter().copied());
    let outcomes = requests.iter().map(|request| cache.access(request));
    outcomes
        .filter(|outcome| !matches!(outcome, Outcome::Hit { .. }))
        .count()
}

/// Returns the fewest misses of any choice of victims, by following all choices.
fn fewest(lines: &[u64], ways: usize, bypasses: bool) -> usize {
    let mut states = vec![(BTreeSet::new(), 0)];
    for line in lines {
        let mut after: Vec<(BTreeSet<u64>, usize)> = Vec::new();
        let mut add = |held: BTreeSet<u64>, misses: usize| match after
            .iter_mut()
            .find(|(other, _)| *other == held)
        {
            Some((_, least)) => *least = misses.min(*least),
            None => after.push((held, misses)),
        };
        for (held, misses) in states {
            if held.contains(line) {
                add(held, misses);
                continue;
            }
            if bypasses {
                add(held.clone(), misses + 1);
            }
            let with = |mut held: BTreeSet<u64>| {
                held.insert(*line);
                held
            };
            if held.len() < ways {
                add(with(held), misses + 1);
                continue;
            }
            for victim in &held {
                let mut kept = held.clone();
                kept.remove(victim);
                add(with(kept), misses + 1);
            }
        }
        states = after;
    }
    states.into_iter().map(|(_, misses)| misses).min().unwrap()
}

proptest! {
    #[test]
    fn as_the_slow_one_that_looks_ahead(geometry in geometry(), requests in requests(), bypasses: bool) {
        let spec = if bypasses { "opt" } else { "opt:bypass=off" };
        let mut fast = cache(geometry, spec, 1).unwrap();
        fast.foresee(&mut requests.iter().copied());
        let sets = vec![Vec::new(); geometry.sets];
        let mut slow = Slow { requests: &requests, geometry, bypasses, sets };
        for (at, request) in requests.iter().enumerate() {
            prop_assert_eq!(fast.access(request), slow.access(at), "{} at {}", spec, at);
        }
    }

    #[test]
    fn no_policy_misses_less_often(geometry in geometry(), requests in requests(), seed: u64) {
        let least = misses(&mut cache(geometry, "opt", seed).unwrap(), &requests);
        for entry in REGISTRY {
            let others = misses(&mut cache(geometry, entry.name, seed).unwrap(), &requests);
            prop_assert!(least <= others, "{}: {} and {}", entry.name, least, others);
        }
    }

    #[test]
    fn no_choice_of_victims_misses_less_often(
        lines in prop::collection::vec(0u64..7, 0..24), ways in 1..4usize, bypasses: bool,
    ) {
        let spec = if bypasses { "opt" } else { "opt:bypass=off" };
        let geometry = Geometry { sets: 1, ways };
        let request = |line: &u64| Request {
            line: *line,
            ip: 0,
            core: 0,
            kind: terrace_policy::llc::Kind::Load,
        };
        let requests: Vec<Request> = lines.iter().map(request).collect();
        let found = misses(&mut cache(geometry, spec, 1).unwrap(), &requests);
        prop_assert_eq!(found, fewest(&lines, ways, bypasses));
    }
}
