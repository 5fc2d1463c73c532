//! Pages that are given back: a slow twin, laws for every machine, and cases by hand.

use std::collections::HashSet;

use proptest::prelude::*;
use terrace_sim::pages::{Inclusion, Outcome, PageMachine, Prefetch};
use terrace_trace::Access;
use terrace_trace::discard::Discard;

use crate::laws::machines;
use crate::machine::{predictor, settings, simulate_traces, touch, touches, trace_with};

/// A step of a program: a touch of a page, which may be a write, or pages that it gives back.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Touch(u64, bool),
    GiveBack(u64, u64),
}
use Step::{GiveBack, Touch};

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0u64..16, any::<bool>()).prop_map(|(page, write)| Touch(page, write)),
        1 => (0u64..16, 1u64..6).prop_map(|(page, pages)| GiveBack(page, pages)),
    ];
    // A trace has an access.
    prop::collection::vec(step, 0..250).prop_map(|mut steps| {
        steps.push(Touch(0, false));
        steps
    })
}

/// The steps as a trace of one thread.
pub fn recorded(steps: &[Step]) -> (Vec<Access>, Vec<Discard>) {
    let (mut pages, mut discards) = (Vec::new(), Vec::new());
    for step in steps {
        match *step {
            Touch(page, write) => pages.push((page, write)),
            GiveBack(page, count) => discards.push(Discard {
                row: pages.len() as u64,
                process: 0,
                page,
                pages: count,
            }),
        }
    }
    (touches(&pages), discards)
}

fn simulate(machine: PageMachine, steps: &[Step], block: usize) -> Outcome {
    let (accesses, discards) = recorded(steps);
    simulate_traces(machine, vec![trace_with(&accesses, &discards, block)])
}

/// What the twin finds.
#[derive(Debug, Default, PartialEq)]
struct Found {
    first: u64,
    full: u64,
    evictions: u64,
    writebacks: u64,
    discards: u64,
    most_at_once: u64,
    places: u64,
}

impl Found {
    fn of(outcome: &Outcome) -> Self {
        Self {
            first: outcome.counts.first_touches,
            full: outcome.counts.full_misses,
            evictions: outcome.counts.evictions,
            writebacks: outcome.counts.writebacks,
            discards: outcome.counts.discards,
            most_at_once: outcome.footprint_pages,
            places: outcome.tier_pages_used,
        }
    }
}

/// LRU by search, and sets of what is where; whatever is given back leaves all of them.
fn twin(steps: &[Step], dram: usize, inclusive: bool) -> Found {
    let mut found = Found::default();
    let mut lru: Vec<u64> = Vec::new();
    let (mut known, mut dirty, mut in_tier) = (HashSet::new(), HashSet::new(), HashSet::new());
    for step in steps {
        let (page, write) = match *step {
            Touch(page, write) => (page, write),
            GiveBack(first, count) => {
                for page in first..first + count {
                    found.discards += u64::from(known.remove(&page));
                    lru.retain(|other| *other != page);
                    dirty.remove(&page);
                    in_tier.remove(&page);
                }
                continue;
            }
        };
        if let Some(place) = lru.iter().position(|other| *other == page) {
            lru.remove(place);
        } else {
            let new = known.insert(page);
            found.first += u64::from(new);
            found.full += u64::from(!new);
            if lru.len() == dram {
                let victim = lru.remove(0);
                found.evictions += 1;
                if dirty.remove(&victim) || !in_tier.contains(&victim) {
                    found.writebacks += 1;
                    in_tier.insert(victim);
                    found.places = found.places.max(in_tier.len() as u64);
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
        found.most_at_once = found.most_at_once.max(known.len() as u64);
    }
    found
}

proptest! {
    #[test]
    fn the_simulation_counts_as_the_twin_does(
        steps in steps(), dram in 1usize..14, inclusive: bool, block in 1usize..50,
    ) {
        let mut machine = settings(dram);
        machine.inclusion = if inclusive { Inclusion::Inclusive } else { Inclusion::Exclusive };
        let found = Found::of(&simulate(machine, &steps, block));
        prop_assert_eq!(found, twin(&steps, dram, inclusive));
    }

    /// Whatever buffers, prefetches, stages and lets go, also while pages are on their way.
    #[test]
    fn every_machine_accounts_for_what_is_given_back(
        machine in machines(), staging in 0usize..6, steps in steps(), block in 1usize..50,
    ) {
        let machine = PageMachine {
            warmup: 0,
            staging: staging.min(machine.dram_pages - machine.prefetch_cache - 1),
            ..machine
        };
        let outcome = simulate(machine.clone(), &steps, block);
        let (counts, story) = (outcome.counts, outcome.story);
        let twin = twin(&steps, machine.dram_pages, true);
        prop_assert_eq!(counts.discards, twin.discards);
        prop_assert_eq!(outcome.footprint_pages, twin.most_at_once);
        // A page that is given back and touched while it is fetched ahead is waited for.
        prop_assert!(counts.first_touches <= twin.first);
        if matches!(machine.prefetch, Prefetch::Off) {
            prop_assert_eq!(counts.first_touches, twin.first);
        }
        prop_assert_eq!(counts.reads, counts.full_misses + story.issued);
        prop_assert_eq!(story.used + story.late + story.wasted + outcome.untouched, story.issued);
        prop_assert!(outcome.all_dram() <= outcome.time());
        prop_assert_eq!(&outcome, &simulate(machine, &steps, 1 << 10), "however the trace is cut");
    }

    /// Threads that give back what others touch: nothing is exact, and nothing fails.
    #[test]
    fn threads_may_give_back_what_others_touch(
        machine in machines(),
        steps in prop::collection::vec((0u16..3, 0u64..99, 0u64..16, any::<bool>(), prop::option::of(1u64..5)), 1..250),
    ) {
        let mut clocks = [0; 3];
        let (mut accesses, mut discards) = (Vec::new(), Vec::new());
        for (thread, gap, page, write, given_back) in steps {
            if let Some(pages) = given_back {
                let row = accesses.len() as u64;
                discards.push(Discard { row, process: 0, page, pages });
            }
            clocks[usize::from(thread)] += gap;
            accesses.push(touch(thread, clocks[usize::from(thread)], page, write));
        }
        let machine = PageMachine { warmup: 0, ..machine };
        let outcome = simulate_traces(machine, vec![trace_with(&accesses, &discards, 9)]);
        let story = outcome.story;
        prop_assert_eq!(outcome.counts.accesses, accesses.len() as u64);
        prop_assert_eq!(story.used + story.late + story.wasted + outcome.untouched, story.issued);
    }
}

/// Arenas of 4 pages that are written, given back and mapped again: with 5 pages of DRAM nothing is
/// ever written, where it would be without.
#[test]
fn what_is_given_back_is_not_written() {
    let arena = |gives_back: bool| {
        let round = (0..4).map(|page| Touch(page, true));
        let round = round.chain(gives_back.then_some(GiveBack(0, 4)));
        // A page between, so that five are not enough for the rounds of two arenas.
        let other = (4..8).map(|page| Touch(page, true));
        let other = other.chain(gives_back.then_some(GiveBack(4, 4)));
        let rounds: Vec<Step> = round.chain(other).collect();
        simulate(settings(5), &rounds.repeat(10), 7).counts
    };
    let (with, without) = (arena(true), arena(false));
    assert_eq!(
        (with.first_touches, with.full_misses, with.writebacks),
        (80, 0, 0)
    );
    assert_eq!((without.first_touches, without.full_misses), (8, 72));
    assert!(without.writebacks > 70);
}

/// A process that has ended has left everything to the one that goes on.
#[test]
fn a_process_that_ends_gives_everything_back() {
    let process = |process: u16, index: u64, page: u64| Access {
        process,
        ..touch(process, index, page, true)
    };
    let first = (0..8).map(|index| process(0, index, index));
    let second = (0..8).map(|index| process(1, index, index));
    let accesses: Vec<_> = first.chain(second).collect();
    let end = Discard {
        row: 8,
        process: 0,
        page: 0,
        pages: 1 << 36,
    };
    let counts = |discards: &[Discard]| {
        let mut machine = settings(8);
        machine.prefetch = predictor("stream");
        let outcome = simulate_traces(machine, vec![trace_with(&accesses, discards, 3)]);
        (outcome.counts.evictions, outcome.counts.discards)
    };
    assert_eq!(counts(&[]), (8, 0));
    let (evictions, discards) = counts(&[end]);
    assert_eq!(discards, 8);
    assert!(evictions <= 8);
}
