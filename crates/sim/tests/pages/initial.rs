//! What pages hold before their first touch: a slow twin, and cases by hand.

use std::collections::HashSet;

use proptest::prelude::*;
use terrace_sim::pages::{Around, Inclusion, Initial, Outcome, PageMachine};

use crate::discards::Step::{self, GiveBack, Touch};
use crate::discards::{recorded, steps};
use crate::laws::machines;
use crate::machine::{readahead, settings, simulate_traces, trace_with};

const ALL: [Initial; 4] = [Initial::Filled, Initial::Zero, Initial::File, Initial::Tier];

fn simulate(machine: PageMachine, steps: &[Step]) -> Outcome {
    let (accesses, discards) = recorded(steps);
    simulate_traces(machine, vec![trace_with(&accesses, &discards, 20)])
}

/// First touches, reads of the tier, and writes to it.
fn found(outcome: &Outcome) -> [u64; 3] {
    let counts = outcome.counts;
    [counts.first_touches, counts.full_misses, counts.writebacks]
}

/// LRU by search, and sets of what is where.
fn twin(steps: &[Step], dram: usize, inclusive: bool, initial: Initial) -> [u64; 3] {
    let [mut first, mut reads, mut writes] = [0; 3];
    let mut lru: Vec<u64> = Vec::new();
    let (mut known, mut written, mut returned) = (HashSet::new(), HashSet::new(), HashSet::new());
    // Pages whose last writes are in DRAM alone, and pages of which the tier has what it got last.
    let (mut dirty, mut in_tier) = (HashSet::new(), HashSet::new());
    for step in steps {
        let (page, write) = match *step {
            Touch(page, write) => (page, write),
            GiveBack(from, count) => {
                for page in from..from + count {
                    lru.retain(|other| *other != page);
                    if known.remove(&page) {
                        returned.insert(page);
                    }
                    for set in [&mut dirty, &mut in_tier, &mut written] {
                        set.remove(&page);
                    }
                }
                continue;
            }
        };
        if let Some(place) = lru.iter().position(|other| *other == page) {
            lru.remove(place);
        } else {
            let new = known.insert(page);
            let is_read = match initial {
                Initial::Filled => !new,
                Initial::Zero => written.contains(&page),
                Initial::File => true,
                Initial::Tier => !(new && returned.contains(&page)),
            };
            if new && initial == Initial::Tier && is_read {
                in_tier.insert(page);
            }
            *(if is_read { &mut reads } else { &mut first }) += 1;
            if lru.len() == dram {
                let victim = lru.remove(0);
                let comes_again =
                    written.contains(&victim) || matches!(initial, Initial::Filled | Initial::Tier);
                if comes_again && (dirty.remove(&victim) || !in_tier.contains(&victim)) {
                    writes += 1;
                    in_tier.insert(victim);
                }
            }
            if is_read && !inclusive {
                in_tier.remove(&page);
            }
        }
        lru.push(page);
        if write {
            dirty.insert(page);
            written.insert(page);
        }
    }
    [first, reads, writes]
}

proptest! {
    #[test]
    fn the_simulation_counts_as_the_twin_does(
        steps in steps(), dram in 1usize..14, inclusive: bool, initial in prop::sample::select(&ALL[..]),
    ) {
        let mut machine = settings(dram);
        machine.initial = initial;
        machine.inclusion = if inclusive { Inclusion::Inclusive } else { Inclusion::Exclusive };
        prop_assert_eq!(found(&simulate(machine, &steps)), twin(&steps, dram, inclusive, initial));
    }

    /// Whatever buffers, prefetches, stages and lets go: reads alone write nothing where a copy
    /// stays, and the program makes all of its touches.
    #[test]
    fn reads_write_nothing(
        steps in steps(), mut machine in machines(), initial in prop::sample::select(&ALL[1..]),
    ) {
        let reads: Vec<Step> = steps.into_iter().map(|step| match step {
            Touch(page, _) => Touch(page, false),
            GiveBack(..) => step,
        }).collect();
        let touches = reads.iter().filter(|step| matches!(step, Touch(..))).count() as u64;
        machine.initial = initial;
        machine.warmup = 0;
        let outcome = simulate(machine.clone(), &reads);
        prop_assert_eq!(outcome.counts.accesses, touches);
        let discards = reads.iter().any(|step| matches!(step, GiveBack(..)));
        if initial != Initial::Tier || machine.inclusion == Inclusion::Inclusive && !discards {
            prop_assert_eq!(outcome.counts.writebacks, 0);
        }
    }
}

/// Two pages of DRAM: three pages are read in turn, then one is written and leaves.
#[test]
fn three_pages_in_two() {
    let read = |page| Touch(page, false);
    let steps = [
        read(0),
        read(1),
        read(2),
        read(0),
        Touch(1, true),
        read(2),
        read(0),
        read(1),
    ];
    // All touches miss. Page 1 is read once after it was written.
    for (initial, expected) in [
        (Initial::Filled, [3, 5, 4]),
        (Initial::Zero, [7, 1, 1]),
        (Initial::File, [0, 8, 1]),
        (Initial::Tier, [0, 8, 1]),
    ] {
        let mut machine = settings(2);
        machine.initial = initial;
        assert_eq!(found(&simulate(machine, &steps)), expected, "{initial:?}");
    }
}

/// A page of a file has no place, around which the kernel would read.
#[test]
fn readahead_reads_pages_of_files_one_by_one() {
    let steps: Vec<Step> = (0..40).map(|step| Touch(step % 20, false)).collect();
    let mut machine = settings(4);
    machine.initial = Initial::File;
    for around in [Around::Addresses, Around::Slots, Around::Block] {
        machine.prefetch = readahead(around, 3);
        let outcome = simulate(machine.clone(), &steps);
        let found = (outcome.counts.reads, outcome.counts.full_misses);
        assert_eq!(found, (40, 40), "{around:?}");
    }
}
