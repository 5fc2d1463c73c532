//! Lines that caches write back: worked examples, and a slow twin that knows which stays of a page
//! in DRAM were written.

use std::collections::HashMap;

use proptest::prelude::*;
use terrace_policy::llc::Kind;
use terrace_policy::replacement::{REGISTRY, Spec};
use terrace_sim::curve::{CurveSettings, Gathered, Sizes};
use terrace_sim::pages::{Dram, Foresight, Inclusion, Initial, Outcome, PageMachine, Survey, run};
use terrace_sim::workload::Workload;
use terrace_trace::Access;

use crate::machine::{predictor, requests, settings, simulate_traces, touches};

/// Rows of one thread, 10 instructions apart.
fn rows(all: &[(u64, Kind)]) -> Vec<Access> {
    let mut rows = touches(
        &all.iter()
            .map(|(page, kind)| (*page, *kind == Kind::WriteBack))
            .collect::<Vec<_>>(),
    );
    for (row, (_, kind)) in rows.iter_mut().zip(all) {
        row.size = if *kind == Kind::Store { 0 } else { 64 };
    }
    rows
}

/// A machine whose device has a channel for every request, so that no write delays a read.
fn machine(dram: usize) -> PageMachine {
    let mut machine = settings(dram);
    machine.tier.timing.channels = 64;
    machine
}

fn found(machine: PageMachine, all: &[(u64, Kind)], block: usize) -> Outcome {
    simulate_traces(machine, vec![requests(&rows(all), block)])
}

const LOAD: Kind = Kind::Load;
const STORE: Kind = Kind::Store;
const BACK: Kind = Kind::WriteBack;

#[test]
fn a_page_that_has_left_is_written_once_and_does_not_fault() {
    // Both pages have a copy, then page 0 leaves clean: its line comes back twice when it is gone.
    let all = [
        (0, LOAD),
        (1, LOAD),
        (0, LOAD),
        (1, LOAD),
        (0, BACK),
        (0, BACK),
    ];
    let counts = found(machine(1), &all, 2).counts;
    assert_eq!(
        (counts.accesses, counts.line_writebacks, counts.writes),
        (4, 2, 0)
    );
    assert_eq!((counts.misses(), counts.evictions), (4, 3));
    assert_eq!(counts.writebacks, 2 + 1);
}

#[test]
fn a_page_in_dram_is_dirty_and_one_that_is_not_known_is_not() {
    let all = [
        (0, BACK),
        (0, LOAD),
        (1, LOAD),
        (0, LOAD),
        (0, BACK),
        (1, LOAD),
    ];
    let counts = found(machine(1), &all, 6).counts;
    // Pages 0 and 1 have no copy at first, and page 0 is dirty the second time.
    assert_eq!(
        (counts.first_touches, counts.full_misses, counts.writebacks),
        (2, 2, 3)
    );
    let mut zero = machine(1);
    zero.initial = Initial::Zero;
    assert_eq!(found(zero, &all, 6).counts.writebacks, 1);
}

/// A staged page that is to be written when its room is needed is not written before.
#[test]
fn a_page_that_is_still_to_be_written_is_not_written_twice() {
    let mut machine = machine(1 + 8);
    machine.staging = 8;
    let all = [(0, STORE), (1, LOAD), (0, BACK), (0, LOAD)];
    let counts = found(machine, &all, 4).counts;
    assert_eq!((counts.rescues, counts.writebacks), (1, 0));
}

#[test]
fn the_warm_up_counts_rows() {
    let mut machine = machine(4);
    machine.warmup = 3;
    let counts = found(
        machine,
        &[(0, LOAD), (0, BACK), (1, LOAD), (2, LOAD), (2, BACK)],
        2,
    )
    .counts;
    assert_eq!((counts.accesses, counts.line_writebacks), (1, 1));
}

/// A page that came ahead and leaves clean is written late, though it left written before.
#[test]
fn what_was_written_in_an_earlier_stay_does_not_count_for_a_page_that_came_ahead() {
    let all = [
        (0, LOAD),
        (1, LOAD),
        (2, LOAD),
        (0, LOAD),
        (1, LOAD),
        (2, LOAD),
        (3, LOAD),
        (1, BACK),
    ];
    let mut rows = rows(&all);
    (1..)
        .zip(&mut rows)
        .for_each(|(step, row)| row.instruction = 10_000 * step);
    let mut machine = machine(2);
    machine.prefetch = predictor("spatial:degree=1");
    let counts = |rows: &[Access]| {
        let outcome = simulate_traces(machine.clone(), vec![requests(rows, 3)]);
        assert_eq!(outcome.story.used, 1, "page 1 comes with page 0");
        outcome.counts.writebacks
    };
    assert_eq!(counts(&rows), counts(&rows[..7]) + 1);
}

/// What the twin finds.
#[derive(Debug, Default, PartialEq)]
struct Found {
    time: u64,
    first: u64,
    full: u64,
    writebacks: u64,
}

/// A page as the twin sees it.
#[derive(Default)]
struct Page {
    /// Whether it was written in each of its stays in DRAM, the last of which may go on.
    stays: Vec<bool>,
}

impl Page {
    fn was_written(&self) -> bool {
        self.stays.contains(&true)
    }
}

/// LRU by search. What is written back belongs to the last stay of its page, whether or not that
/// has ended; writes are counted at the end, when all stays are known.
fn twin(all: &[(u64, Kind)], dram: usize, inclusion: Inclusion, initial: Initial) -> Found {
    let keeps = inclusion == Inclusion::Inclusive;
    let filled = initial == Initial::Filled;
    let mut found = Found::default();
    let mut lru: Vec<u64> = Vec::new();
    let mut pages: HashMap<u64, Page> = HashMap::new();
    for (index, &(page, kind)) in all.iter().enumerate() {
        found.time += if index == 0 { 0 } else { 10 };
        if kind == BACK {
            if let Some(last) = pages.get_mut(&page).and_then(|page| page.stays.last_mut()) {
                *last = true;
            }
            continue;
        }
        if let Some(place) = lru.iter().position(|other| *other == page) {
            lru.remove(place);
        } else {
            let seen = pages.entry(page).or_default();
            let new = seen.stays.is_empty() || !filled && !seen.was_written();
            seen.stays.push(false);
            found.time += 1 + 4 + 8;
            if new {
                found.first += 1;
            } else {
                found.full += 1;
                found.time += 2 + 100;
            }
            if lru.len() == dram {
                let victim = &pages[&lru.remove(0)];
                found.time += 16;
                if is_written(victim, victim.stays.len() - 1, keeps, filled) {
                    found.time += 1000;
                }
            }
        }
        lru.push(page);
        if kind == STORE
            && let Some(last) = pages.get_mut(&page).and_then(|page| page.stays.last_mut())
        {
            *last = true;
        }
    }
    for (number, page) in &pages {
        let ended = page.stays.len() - usize::from(lru.contains(number));
        let written = (0..ended).filter(|stay| is_written(page, *stay, keeps, filled));
        found.writebacks += written.count() as u64;
    }
    found
}

/// Whether a page is written at the end of a stay: it was written to, or there is something in it
/// of which the tier has no copy.
fn is_written(page: &Page, stay: usize, keeps: bool, filled: bool) -> bool {
    let is_first = !page.stays[..stay].contains(&true);
    page.stays[stay]
        || match filled {
            true => stay == 0 || !keeps,
            false => !is_first && !keeps,
        }
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![3 => Just(LOAD), 1 => Just(STORE), 3 => Just(BACK)]
}

proptest! {
    #[test]
    fn the_simulation_counts_as_the_twin_does(
        all in prop::collection::vec((0u64..12, kinds()), 1..200),
        dram in 1usize..10,
        inclusive: bool,
        zero: bool,
        block in 1usize..50,
    ) {
        let mut machine = machine(dram);
        machine.inclusion = if inclusive { Inclusion::Inclusive } else { Inclusion::Exclusive };
        machine.initial = if zero { Initial::Zero } else { Initial::Filled };
        let (inclusion, initial) = (machine.inclusion, machine.initial);
        let outcome = found(machine, &all, block);
        let found = Found {
            time: outcome.time().0,
            first: outcome.counts.first_touches,
            full: outcome.counts.full_misses,
            writebacks: outcome.counts.writebacks,
        };
        prop_assert_eq!(found, twin(&all, dram, inclusion, initial));
    }

    /// A predictor that knows the future knows the touches alone: lines of a page that nothing
    /// touches change nothing.
    #[test]
    fn the_oracle_sees_touches(
        pages in prop::collection::vec((0u64..60, 0usize..3), 50..300),
    ) {
        let with: Vec<_> = (1..).zip(&pages).flat_map(|(step, &(page, lines))| {
            let at = |page, kind| Access { instruction: 200 * step, ..rows(&[(page, kind)])[0] };
            std::iter::once(at(page, LOAD)).chain(std::iter::repeat_n(at(99, BACK), lines))
        }).collect();
        let without: Vec<_> = with.iter().filter(|row| !row.write).copied().collect();
        let found = |rows: &[Access]| {
            let mut machine = machine(20);
            machine.prefetch = predictor("oracle");
            let workload = || Workload::new(vec![requests(rows, 7)], None).unwrap();
            let survey = Survey::of(workload(), Foresight::Threads, |_| {}).unwrap();
            let outcome = run(workload(), vec![machine], survey.future.as_ref(), |_| {}).unwrap().remove(0);
            (outcome.time(), outcome.counts.misses(), outcome.story)
        };
        prop_assert_eq!(found(&with), found(&without));
    }

    /// Misses are those of the trace without the lines that are written back, whatever policy
    /// decides and wherever pages wait; so are those of a curve.
    #[test]
    fn no_policy_sees_what_is_written_back(
        all in prop::collection::vec((0u64..12, kinds()), 1..200),
        dram in 1usize..10,
        staging in 0usize..3,
        buffer in 0usize..4,
    ) {
        let touches: Vec<_> = all.iter().filter(|(_, kind)| *kind != BACK).copied().collect();
        prop_assume!(!touches.is_empty());
        // Two have dirty pages leave later, and learn that a page is dirty at its next touch.
        let blind = |name: &&str| !["cflru", "linux"].contains(name);
        for policy in REGISTRY.iter().map(|entry| entry.name).filter(blind) {
            let mut machine = settings(dram + staging);
            machine.replacement = Spec::parse(policy).unwrap();
            (machine.staging, machine.eviction_buffer) = (staging, buffer);
            let misses = [&all, &touches].map(|rows| misses(&machine, rows));
            prop_assert_eq!(misses[0], misses[1], "{}", policy);
        }
        let asked = CurveSettings {
            policies: REGISTRY.iter().map(Spec::from).collect(),
            sizes: Sizes::Some(vec![Dram::Pages(dram as u64)]),
            rate: Some(1.0),
            samples: 1,
            seed: 1,
        };
        let [with, without] = [&all, &touches].map(|rows| {
            let gathered = Gathered::read(workload(rows), asked.clone(), |_| {}).unwrap();
            gathered.curves(|_| {}).unwrap()
        });
        prop_assert_eq!(with.touches, touches.len() as u64);
        for (with, without) in with.curves.iter().zip(&without.curves) {
            prop_assert_eq!(with.points[0].misses, without.points[0].misses);
        }
    }
}

fn workload(all: &[(u64, Kind)]) -> Workload {
    Workload::new(vec![requests(&rows(all), 7)], None).unwrap()
}

fn misses(machine: &PageMachine, all: &[(u64, Kind)]) -> u64 {
    let survey = Survey::of(workload(all), Foresight::Order, |_| {}).unwrap();
    let outcomes = run(
        workload(all),
        vec![machine.clone()],
        survey.future.as_ref(),
        |_| {},
    );
    outcomes.unwrap()[0].counts.misses()
}
