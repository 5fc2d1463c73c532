//! Machines without a clock: they count what one with a clock and without an eviction buffer does.

use std::sync::Arc;

use proptest::prelude::*;
use terrace_base::Result;
use terrace_policy::llc::Kind;
use terrace_policy::prefetch::Future;
use terrace_policy::replacement::REGISTRY;
use terrace_sim::pages::{
    Around, FaultCost, Foresight, Inclusion, Initial, Outcome, PageMachine, Survey, Tier, run,
};
use terrace_sim::workload::Workload;
use terrace_trace::discard::Discard;
use terrace_trace::{Access, Source};

use crate::machine::{readahead, requests, settings, touches, trace, trace_with};

/// The same machine without a clock.
fn untimed(machine: &PageMachine) -> PageMachine {
    PageMachine {
        tier: Tier::untimed(),
        ..machine.clone()
    }
}

/// Runs a machine with a clock, and the same without.
fn both(
    machine: &PageMachine,
    trace: impl Fn() -> Box<dyn Source>,
    future: Option<&Arc<Future>>,
) -> Result<(Outcome, Outcome)> {
    let workload = Workload::new(vec![trace()], None)?;
    let machines = vec![machine.clone(), untimed(machine)];
    let mut outcomes = run(workload, machines, future, |_| {})?;
    let counted = outcomes.remove(1);
    Ok((outcomes.remove(0), counted))
}

/// Compares all counts of both.
fn agree((timed, counted): (Outcome, Outcome)) -> std::result::Result<(), TestCaseError> {
    prop_assert_eq!(counted.counts, timed.counts);
    prop_assert_eq!(counted.full_at, timed.full_at);
    prop_assert_eq!(counted.warmup, timed.warmup);
    prop_assert_eq!(counted.footprint_pages, timed.footprint_pages);
    prop_assert_eq!(counted.tier_pages_used, timed.tier_pages_used);
    prop_assert_eq!(counted.programs[0].threads, timed.programs[0].threads);
    prop_assert!(timed.timed && !counted.timed);
    Ok(())
}

fn initials() -> impl Strategy<Value = Initial> {
    prop_oneof![
        Just(Initial::Filled),
        Just(Initial::Zero),
        Just(Initial::File),
        Just(Initial::Tier),
    ]
}

fn inclusions() -> impl Strategy<Value = Inclusion> {
    prop_oneof![Just(Inclusion::Inclusive), Just(Inclusion::Exclusive)]
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![3 => Just(Kind::Load), 2 => Just(Kind::Store), 2 => Just(Kind::WriteBack)]
}

/// Requests of caches: their pages, and what they are.
fn rows(all: &[(u64, Kind)]) -> Vec<Access> {
    let written = all
        .iter()
        .map(|(page, kind)| (*page, *kind == Kind::WriteBack));
    let mut rows = touches(&written.collect::<Vec<_>>());
    for (row, (_, kind)) in rows.iter_mut().zip(all) {
        row.size = if *kind == Kind::Store { 0 } else { 64 };
    }
    rows
}

proptest! {
    #[test]
    fn counts_are_those_of_the_clock(
        all in prop::collection::vec((0u64..24, any::<bool>()), 1..400),
        discards in prop::collection::vec((0u64..400, 0u64..24, 1u64..6), 0..6),
        dram in 1usize..20,
        (initial, inclusion) in (initials(), inclusions()),
        (warmup, block) in (0u64..300, 1usize..90),
        on_map: bool,
    ) {
        let accesses = touches(&all);
        let mut discards: Vec<Discard> = discards.iter().map(|&(row, page, pages)| Discard {
            row: row.min(all.len() as u64 - 1),
            page,
            pages,
            ..Discard::default()
        }).collect();
        discards.sort_by_key(|discard| discard.row);
        for entry in REGISTRY {
            let machine = PageMachine {
                replacement: entry.into(),
                initial,
                inclusion,
                warmup,
                fault: FaultCost { shootdown_on_map: on_map, ..settings(1).fault },
                ..settings(dram)
            };
            let traces = || trace_with(&accesses, &discards, block);
            let future = match entry.knows_future() {
                true => {
                    let workload = Workload::new(vec![traces()], None).unwrap();
                    Survey::of(workload, Foresight::Order, |_| {}).unwrap().future
                }
                false => None,
            };
            let agreed = agree(both(&machine, traces, future.as_ref()).unwrap());
            prop_assert!(agreed.is_ok(), "{}: {:?}", entry.name, agreed);
        }
    }

    #[test]
    fn lines_that_caches_write_back_count_alike(
        all in prop::collection::vec((0u64..16, kinds()), 1..200),
        dram in 1usize..10,
        (initial, inclusion) in (initials(), inclusions()),
        (warmup, block) in (0u64..200, 1usize..90),
    ) {
        let rows = rows(&all);
        for entry in REGISTRY.iter().filter(|entry| !entry.knows_future()) {
            let mut machine = PageMachine {
                replacement: entry.into(),
                initial,
                inclusion,
                warmup,
                ..settings(dram)
            };
            // No late write delays a fault, so that none finds a page on its way.
            machine.tier.timing.channels = 64;
            let agreed = agree(both(&machine, || requests(&rows, block), None).unwrap());
            prop_assert!(agreed.is_ok(), "{}: {:?}", entry.name, agreed);
        }
    }
}

/// Batches are longer where several machines count: of a trace of some, nothing changes.
#[test]
fn machines_that_count_together_count_as_alone() {
    let touch = |at: u64| (at * at % 1013 % (7 + at / 4000), at.is_multiple_of(3));
    let touched: Vec<(u64, bool)> = (0..700_000).map(touch).collect();
    let machines = [20, 100].map(|pages| untimed(&settings(pages)));
    let counted = |machines: &[PageMachine]| {
        let workload = Workload::new(vec![trace(&touches(&touched), 1 << 14)], None).unwrap();
        run(workload, machines.to_vec(), None, |_| {}).unwrap()
    };
    for (machine, together) in machines.iter().zip(counted(&machines)) {
        let alone = counted(std::slice::from_ref(machine)).remove(0);
        assert!(alone.counts.accesses == 700_000 && alone.counts.full_misses > 0);
        assert_eq!(together.counts, alone.counts);
        assert_eq!(together.full_at, alone.full_at);
        assert_eq!(together.footprint_pages, alone.footprint_pages);
    }
}

#[test]
fn several_traces_need_a_clock() {
    let trace = || trace(&touches(&[(1, false)]), 1);
    let workload = Workload::new(vec![trace(), trace()], None).unwrap();
    let error = run(workload, vec![untimed(&settings(1))], None, |_| {}).unwrap_err();
    assert!(error.to_string().contains("name one trace"), "{error}");
}

/// A change of a machine.
type Change = fn(&mut PageMachine);

#[test]
fn what_a_clock_decides_is_refused() {
    let workload = || Workload::new(vec![trace(&touches(&[(1, false)]), 1)], None).unwrap();
    let changes: [(&str, Change); 4] = [
        ("‘staging’", |machine| machine.staging = 1),
        ("‘prefetch’", |machine| {
            machine.prefetch = readahead(Around::Addresses, 3);
        }),
        ("‘channels’", |machine| machine.tier.timing.channels = 2),
        ("‘devices’", |machine| machine.tier.devices = 2),
    ];
    for (option, change) in changes {
        let mut machine = untimed(&settings(2));
        change(&mut machine);
        let error = run(workload(), vec![machine], None, |_| {}).unwrap_err();
        assert!(error.to_string().contains(option), "{error}");
    }
}
