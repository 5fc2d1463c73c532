//! Pages of zeros, which leave DRAM without a write and come back without a read: a slow twin that
//! knows what pages hold, laws for every machine, and a case by hand.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use terrace_policy::replacement::{REGISTRY, Spec};
use terrace_sim::pages::{Inclusion, Initial, Outcome, PageMachine, ZeroPages, run};
use terrace_sim::workload::Workload;
use terrace_trace::discard::Discard;

use crate::discards::Step::{self, GiveBack, Touch};
use crate::discards::{recorded, steps};
use crate::laws::machines;
use crate::machine::{leaving_zeros, predictor, settings, simulate_traces, touches, trace};

const ALL: [Initial; 4] = [Initial::Filled, Initial::Zero, Initial::File, Initial::Tier];

/// A machine that drops pages of zeros.
fn dropping(machine: PageMachine) -> PageMachine {
    PageMachine {
        zero_pages: ZeroPages::Dropped,
        ..machine
    }
}

fn simulate(machine: PageMachine, steps: &[Step], zeros: &[bool], block: usize) -> Outcome {
    let (accesses, discards) = recorded(steps);
    let zeros = &zeros[..accesses.len()];
    simulate_traces(
        machine,
        vec![leaving_zeros(&accesses, &discards, zeros, block)],
    )
}

/// What the twin finds.
#[derive(Debug, Default, PartialEq)]
struct Found {
    time: u64,
    first: u64,
    full: u64,
    reads: u64,
    writebacks: u64,
    dropped: u64,
}

impl Found {
    fn of(outcome: &Outcome) -> Self {
        let counts = outcome.counts;
        Self {
            time: outcome.time().0,
            first: counts.first_touches,
            full: counts.full_misses,
            reads: counts.reads,
            writebacks: counts.writebacks,
            dropped: counts.zeros_dropped,
        }
    }
}

/// What a page holds: a number that is another after each change, and whether that is zeros.
#[derive(Clone, Copy, PartialEq)]
struct Held {
    number: u64,
    zeros: bool,
}

struct Page {
    held: Held,
    /// What the tier has of it.
    copy: Option<Held>,
    /// Whether it holds what it held at first.
    untouched: bool,
}

impl Page {
    /// Whether the page is where it began, and needs no place in the tier.
    fn is_at_home(&self, initial: Initial) -> bool {
        self.untouched
            && match initial {
                Initial::Filled => self.held.zeros,
                Initial::Zero | Initial::File => true,
                Initial::Tier => false,
            }
    }
}

/// LRU by search over pages that hold something.
fn twin(steps: &[Step], zeros: &[bool], dram: usize, inclusive: bool, initial: Initial) -> Found {
    let mut found = Found::default();
    let mut lru: Vec<u64> = Vec::new();
    let mut pages: HashMap<u64, Page> = HashMap::new();
    let (mut returned, mut row) = (HashSet::new(), 0);
    for step in steps {
        let (number, write) = match *step {
            Touch(page, write) => (page, write),
            GiveBack(from, count) => {
                for page in from..from + count {
                    lru.retain(|other| *other != page);
                    if pages.remove(&page).is_some() {
                        returned.insert(page);
                    }
                }
                continue;
            }
        };
        found.time += if row == 0 { 0 } else { 10 };
        let leaves = Held {
            number: row as u64 + 1,
            zeros: zeros[row],
        };
        row += 1;
        // What the fault finds: nothing, zeros that need no read, or what is to be read.
        let is_read = match pages.get(&number) {
            None if initial == Initial::File => Some(true),
            None if initial == Initial::Tier && !returned.contains(&number) => {
                Some(write || !leaves.zeros)
            }
            None => None,
            Some(page) if page.is_at_home(initial) => (initial == Initial::File).then_some(true),
            Some(page) => page.copy.map(|copy| !copy.zeros).or(Some(true)),
        };
        if let Some(place) = lru.iter().position(|other| *other == number) {
            lru.remove(place);
        } else {
            found.time += 1 + 4 + 8;
            match is_read {
                None => found.first += 1,
                Some(is_read) => {
                    found.full += 1;
                    found.time += 2;
                    found.reads += u64::from(is_read);
                    found.time += if is_read { 100 } else { 0 };
                }
            }
            if lru.len() == dram {
                found.time += 16;
                let victim = pages.get_mut(&lru.remove(0)).expect("it was touched");
                if !victim.is_at_home(initial) && victim.copy != Some(victim.held) {
                    victim.copy = Some(victim.held);
                    match victim.held.zeros {
                        true => found.dropped += 1,
                        false => {
                            found.writebacks += 1;
                            found.time += 1000;
                        }
                    }
                }
            }
        }
        let was_missing = !lru.contains(&number) && is_read.is_some();
        lru.push(number);
        let page = pages.entry(number).or_insert_with(|| {
            // At first it holds what its first touch leaves, unless that stores.
            let held = Held {
                number: 0,
                ..leaves
            };
            let in_tier = initial == Initial::Tier && !returned.contains(&number);
            Page {
                held,
                copy: in_tier.then_some(held),
                untouched: true,
            }
        });
        if was_missing && !inclusive {
            page.copy = None;
        }
        if write || page.held.zeros != leaves.zeros {
            page.held = leaves;
            page.untouched = false;
        }
    }
    found
}

proptest! {
    #[test]
    fn the_simulation_counts_as_the_twin_does(
        steps in steps(),
        zeros in prop::collection::vec(any::<bool>(), 300),
        dram in 1usize..14,
        inclusive: bool,
        initial in prop::sample::select(&ALL[..]),
        block in 1usize..50,
    ) {
        let mut machine = dropping(settings(dram));
        machine.initial = initial;
        machine.inclusion = if inclusive { Inclusion::Inclusive } else { Inclusion::Exclusive };
        let outcome = simulate(machine, &steps, &zeros, block);
        prop_assert_eq!(Found::of(&outcome), twin(&steps, &zeros, dram, inclusive, initial));
    }

    /// To every policy a page of zeros is a clean one: it decides as if stores that leave zeros
    /// were loads.
    #[test]
    fn pages_of_zeros_are_clean(
        steps in steps(),
        dram in 1usize..14,
        becomes in 0usize..200,
        policy in prop::sample::select(REGISTRY.iter().filter(|entry| !entry.knows_future()).collect::<Vec<_>>()),
    ) {
        let mut machine = dropping(settings(dram));
        machine.replacement = policy.into();
        // From some touch on even pages are left with zeros.
        let (accesses, _) = recorded(&steps);
        let zeros: Vec<bool> = accesses.iter().enumerate().map(|(row, access)| {
            row >= becomes && access.address / 4096 % 2 == 0
        }).collect();
        let mut row = 0;
        let loads: Vec<Step> = steps.iter().map(|step| match *step {
            Touch(page, write) => {
                row += 1;
                Touch(page, write && !zeros[row - 1])
            }
            GiveBack(..) => *step,
        }).collect();
        let misses = |steps: &[Step], zeros: &[bool]| {
            let counts = simulate(machine.clone(), steps, zeros, 20).counts;
            (counts.first_touches + counts.full_misses, counts.evictions)
        };
        if becomes == 0 {
            prop_assert_eq!(misses(&steps, &zeros), misses(&loads, &vec![false; zeros.len()]));
        }
        prop_assert_eq!(misses(&steps, &zeros), misses(&loads, &zeros));
    }

    /// Whatever buffers, prefetches, stages and lets go: what leaves nothing but zeros moves
    /// nothing.
    #[test]
    fn zeros_are_not_moved(steps in steps(), machine in machines(), initial in prop::sample::select(&ALL[..2])) {
        let mut machine = dropping(machine);
        (machine.initial, machine.warmup) = (initial, 0);
        // Two programs, so that touches wait for each other.
        let (accesses, discards) = recorded(&steps);
        let zeros = vec![true; accesses.len()];
        let traces = (0..2).map(|_| leaving_zeros(&accesses, &discards, &zeros, 20));
        let outcome = simulate_traces(machine, traces.collect());
        prop_assert_eq!(outcome.counts.accesses, 2 * accesses.len() as u64);
        prop_assert_eq!((outcome.counts.reads, outcome.counts.writebacks), (0, 0));
    }

    /// Where no page is zeros nothing is different.
    #[test]
    fn without_zeros_all_is_as_before(steps in steps(), machine in machines(), tells: bool) {
        let found = |machine: PageMachine, zeros: bool| {
            let outcome = simulate(machine, &steps, &[zeros; 300], 20);
            (outcome.counts, outcome.times, outcome.story, outcome.time())
        };
        let expected = found(machine.clone(), tells);
        prop_assert_eq!(found(dropping(machine), false), expected);
    }
}

/// Three pages in two pages of DRAM, of which one is stored to twice.
#[test]
fn a_page_of_zeros_leaves_and_returns() {
    let steps = [0, 1, 2, 0, 1, 2].map(|page| Touch(page, page == 0));
    let all = [
        // All are zeros: the two that nothing stored to are as they began.
        ([true; 6], [5, 1, 0, 0, 2]),
        // Page 0 has no zeros the second time.
        ([true, true, true, false, true, true], [5, 1, 0, 1, 1]),
        // Nothing is zeros.
        ([false; 6], [3, 3, 3, 4, 0]),
    ];
    for (zeros, [first, full, reads, writebacks, dropped]) in all {
        let counts = simulate(dropping(settings(2)), &steps, &zeros, 6).counts;
        assert_eq!((counts.first_touches, counts.full_misses), (first, full));
        assert_eq!((counts.reads, counts.writebacks), (reads, writebacks));
        assert_eq!(counts.zeros_dropped, dropped);
    }
}

/// Pages of zeros that a predictor names are fetched, and nothing is read for them.
#[test]
fn zeros_are_fetched_ahead_without_a_read() {
    let pages: Vec<_> = (0..3)
        .flat_map(|_| (0..40).map(|page| (page, true)))
        .collect();
    let steps: Vec<Step> = pages
        .iter()
        .map(|&(page, write)| Touch(page, write))
        .collect();
    let mut machine = dropping(settings(20));
    machine.prefetch = predictor("stream");
    let outcome = simulate(machine.clone(), &steps, &[true; 120], 6);
    assert!(outcome.story.used > 30, "{:?}", outcome.story);
    assert_eq!(outcome.story.late, 0);
    assert_eq!(outcome.counts.reads, 0);
    machine.zero_pages = ZeroPages::Written;
    assert!(simulate(machine, &steps, &[true; 120], 6).counts.reads > 30);
}

/// The kernel's policy lets a page of zeros go when its turn comes, where one that is written stays
/// for another reclaim.
#[test]
fn the_kernels_policy_frees_zeros_at_once() {
    // Page 0 is stored to twice, and touched again shortly after its turn.
    let pages: Vec<_> = [0, 0]
        .into_iter()
        .chain(1..260)
        .chain([0])
        .chain(260..400)
        .map(|page| (page, page == 0))
        .collect();
    let mut machine = dropping(settings(256));
    machine.replacement = Spec::parse("linux").unwrap();
    machine.eviction_buffer = 64;
    // From this row on all pages are left with zeros.
    let simulate = |pages: &[(u64, bool)], discards: &[Discard], zeros: &[bool]| {
        let trace = leaving_zeros(&touches(pages), discards, zeros, 50);
        let counts = simulate_traces(machine.clone(), vec![trace]).counts;
        (counts.full_misses + counts.rescues, counts.zeros_dropped)
    };
    let found = |from: usize| {
        let zeros: Vec<_> = (0..pages.len()).map(|row| row >= from).collect();
        simulate(&pages, &[], &zeros)
    };
    assert_eq!(found(0), (1, 1));
    assert_eq!(found(1), (1, 1), "the second store makes it clean");
    assert_eq!(found(pages.len()), (0, 0));
    // A page that held zeros when it was given back is clean as well when it is read.
    let mut read = pages.clone();
    read.iter_mut()
        .skip(1)
        .for_each(|(_, write)| *write = false);
    let discard = Discard {
        row: 1,
        process: 0,
        page: 0,
        pages: 1,
    };
    let zeros: Vec<_> = (0..pages.len()).map(|row| row == 0).collect();
    assert_eq!(simulate(&read, &[discard], &zeros), (1, 0));
}

#[test]
fn a_trace_that_does_not_tell_is_refused() {
    let workload = || Workload::new(vec![trace(&touches(&[(0, true)]), 9)], None).unwrap();
    assert!(run(workload(), vec![settings(1)], None, |_| {}).is_ok());
    let refused = run(workload(), vec![dropping(settings(1))], None, |_| {});
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("--level pages"), "{refused}");
}
