//! One thread, no buffer, no prefetch: a slow twin that adds up what each touch costs.

use proptest::prelude::*;
use std::collections::HashSet;
use terrace_base::Nanos;
use terrace_sim::pages::Inclusion;

use crate::machine::{settings, simulate, touches};

/// What the twin finds.
#[derive(Debug, Default, PartialEq)]
struct Found {
    time: u64,
    all_dram: u64,
    first: u64,
    full: u64,
    writebacks: u64,
}

/// LRU by search; each cost where it arises.
fn twin(pages: &[(u64, bool)], dram: usize, inclusive: bool) -> Found {
    let mut found = Found::default();
    let mut lru: Vec<u64> = Vec::new();
    let (mut known, mut dirty, mut in_tier) = (HashSet::new(), HashSet::new(), HashSet::new());
    for (index, &(page, write)) in pages.iter().enumerate() {
        let compute = if index == 0 { 0 } else { 10 };
        found.time += compute;
        found.all_dram += compute;
        if let Some(place) = lru.iter().position(|other| *other == page) {
            lru.remove(place);
        } else {
            let new = known.insert(page);
            found.time += 1 + 4 + 8;
            if new {
                found.first += 1;
                found.all_dram += 1 + 4 + 8;
            } else {
                found.full += 1;
                found.time += 2 + 100;
            }
            if lru.len() == dram {
                found.time += 16;
                let victim = lru.remove(0);
                if dirty.remove(&victim) || !in_tier.contains(&victim) {
                    found.time += 1000;
                    found.writebacks += 1;
                    in_tier.insert(victim);
                }
            }
            if !new && !inclusive {
                in_tier.remove(&page);
            }
        }
        lru.push(page);
        if write {
            dirty.insert(page);
        }
    }
    found
}

proptest! {
    #[test]
    fn the_simulation_adds_up_as_the_twin_does(
        pages in prop::collection::vec((0u64..12, any::<bool>()), 1..200),
        dram in 1usize..10,
        inclusive: bool,
        block in 1usize..50,
    ) {
        let mut machine = settings(dram);
        machine.inclusion = if inclusive { Inclusion::Inclusive } else { Inclusion::Exclusive };
        let outcome = simulate(machine, &[touches(&pages)], block);
        let found = Found {
            time: outcome.time().0,
            all_dram: outcome.all_dram().0,
            first: outcome.counts.first_touches,
            full: outcome.counts.full_misses,
            writebacks: outcome.counts.writebacks,
        };
        prop_assert_eq!(found, twin(&pages, dram, inclusive));
        prop_assert_eq!(outcome.times.compute, Nanos(10 * (pages.len() as u64 - 1)));
    }
}
