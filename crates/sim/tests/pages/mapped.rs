//! When pages that are fetched ahead are mapped: what a touch of one costs, by examples and for any
//! program.

use proptest::prelude::*;
use terrace_sim::pages::{Initial, Mapped, Outcome, PageMachine, Shootdown, Work};
use terrace_trace::Access;

use crate::machine::{predictor, settings, simulate, touch};

/// All pages are in the tier at first, and the two behind a page are foretold.
fn machine(mapped: Mapped, work: Work) -> PageMachine {
    let mut machine = settings(8);
    machine.initial = Initial::Tier;
    machine.prefetch = predictor("spatial:degree=2");
    (machine.mapped, machine.work) = (mapped, work);
    machine
}

/// Reads of pages at these times.
fn reads(all: &[(u64, u64)]) -> Vec<Access> {
    let read = |&(time, page): &(u64, u64)| touch(0, time, page, false);
    all.iter().map(read).collect()
}

/// Returns how long a program stands still that needs page 0, which brings 1 and 2, and then, if
/// asked, page 1 so many instructions later.
fn stands(mapped: Mapped, work: Work, then: Option<u64>) -> u64 {
    let mut all: Vec<_> = (0..11).map(|page| (page * 10_000, page)).collect();
    let before = simulate(machine(mapped, work), &[reads(&all)], 3);
    all.push((200_000, 0));
    all.extend(then.map(|later| (200_000 + later, 1)));
    let outcome = simulate(machine(mapped, work), &[reads(&all)], 3);
    let stands = |outcome: &Outcome| (outcome.time() - outcome.times.compute).0;
    stands(&outcome) - stands(&before)
}

/// Trap, unmap and the kernel's way; then 100 ns for the page, and as much for each of the others.
const ASKED: u64 = 1 + 16 + 2;

#[test]
fn a_page_that_has_arrived_costs_a_minor_fault_or_nothing() {
    let fault = ASKED + 100 + 4 + 8;
    for (mapped, use_) in [(Mapped::AtUse, 1 + 8), (Mapped::AtArrival, 0)] {
        assert_eq!(stands(mapped, Work::Asynchronous, None), fault);
        assert_eq!(stands(mapped, Work::Asynchronous, Some(1000)), fault + use_);
    }
}

#[test]
fn a_page_that_is_still_read_costs_a_fault() {
    for mapped in [Mapped::AtUse, Mapped::AtArrival] {
        // 10 instructions later; it is there 200 ns after it was asked for, which then ends with
        // copy and map.
        let late = ASKED + 200 + 4 + 8 - 10;
        assert_eq!(stands(mapped, Work::Asynchronous, Some(10)), late);
    }
}

#[test]
fn a_fault_that_waits_maps_what_it_waited_for() {
    for (mapped, maps, use_) in [(Mapped::AtUse, 0, 1 + 8), (Mapped::AtArrival, 2 * 8, 0)] {
        let waited = ASKED + 300 + maps;
        assert_eq!(stands(mapped, Work::Synchronous, None), waited);
        assert_eq!(stands(mapped, Work::Synchronous, Some(10)), waited + use_);
    }
}

/// A first use that causes more to be fetched waits for that as well.
#[test]
fn nothing_is_late_where_touches_wait() {
    let all: Vec<_> = (0..400).map(|touch| (touch * 10, touch % 40)).collect();
    let late = |work| {
        let mut machine = machine(Mapped::AtArrival, work);
        machine.prefetch = predictor("stride:trigger=first-use");
        machine.prefetch_cache = 4;
        let story = simulate(machine, &[reads(&all)], 9).story;
        assert!(story.used + story.late > 200, "{story:?}");
        story.late
    };
    assert_eq!(late(Work::Synchronous), 0);
    assert!(late(Work::Asynchronous) > 100);
}

proptest! {
    /// Where faults wait for what they cause to be fetched, nothing is late and each choice sees
    /// the same: a page that is mapped as it arrives saves its minor fault, and is mapped by the
    /// fault before.
    #[test]
    fn times_differ_by_minor_faults_and_maps(
        pages in prop::collection::vec(0u64..40, 1..200),
        dram in 4usize..20,
        cache in 0usize..4,
        on_map: bool,
    ) {
        let all: Vec<_> = (0..).step_by(10).zip(pages).collect();
        let found = |mapped| {
            let mut machine = machine(mapped, Work::Synchronous);
            machine.dram_pages = dram + cache;
            machine.prefetch_cache = cache;
            machine.threads = Some(4);
            machine.fault.shootdown = Shootdown::Hardware;
            machine.fault.shootdown_on_map = on_map;
            simulate(machine, &[reads(&all)], 7)
        };
        let (use_, arrival) = (found(Mapped::AtUse), found(Mapped::AtArrival));
        prop_assert_eq!(use_.story, arrival.story);
        prop_assert_eq!(use_.counts.misses(), arrival.counts.misses());
        prop_assert_eq!(arrival.story.late, 0);
        let shootdown = Shootdown::Hardware.cost(4).0;
        let each = shootdown * u64::from(on_map);
        let unmaps = arrival.counts.background_evictions - use_.counts.background_evictions;
        let saved = arrival.story.used * (1 + 8 + each) + unmaps * (16 + shootdown);
        let mapped = arrival.story.issued * 8;
        prop_assert_eq!(use_.time().0 + mapped, arrival.time().0 + saved);
    }
}
