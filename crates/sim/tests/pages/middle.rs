//! A memory between DRAM and the tier: a slow twin that adds up what each touch costs, and machines
//! that have to be alike.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use terrace_base::Nanos;
use terrace_device::{Order, Timing};
use terrace_policy::replacement;
use terrace_sim::pages::{Inclusion, Middle, Outcome, PageMachine, run};
use terrace_sim::workload::Workload;
use terrace_trace::Access;
use terrace_trace::discard::Discard;

use crate::machine::{
    requests, settings, simulate, simulate_traces, touch, touches, trace, trace_with,
};

/// A read takes 20 ns, a write 300.
fn timing() -> Timing {
    Timing {
        read: Nanos(20),
        write: Nanos(300),
        channels: 1,
        bandwidth: None,
        order: Order::Plain,
    }
}

/// The machine of other tests with so many pages between its DRAM and its tier.
fn machine(dram: usize, middle: usize) -> PageMachine {
    PageMachine {
        middle: Some(Middle {
            name: "middle".to_owned(),
            timing: timing(),
            pages: middle,
        }),
        ..settings(dram)
    }
}

/// Time, first touches, reads of the tier, writes to it, reads of the middle, writes to it.
type Found = (u64, u64, u64, u64, u64, u64);

fn found(outcome: &Outcome) -> Found {
    let counts = &outcome.counts;
    (
        outcome.time().0,
        counts.first_touches,
        counts.reads,
        counts.writebacks,
        counts.middle_reads,
        counts.middle_writes,
    )
}

/// LRU of DRAM and a queue of the middle, both by search.
fn twin(pages: &[(u64, bool)], dram: usize, middle: usize) -> Found {
    let (mut time, mut first, mut reads, mut writes) = (0, 0, 0, 0);
    let (mut middle_reads, mut middle_writes) = (0, 0);
    let (mut fast, mut between): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut known = HashSet::new();
    // Whether the tier's copy is up to date, of pages that have one.
    let mut copies: HashMap<u64, bool> = HashMap::new();
    for (index, &(page, write)) in pages.iter().enumerate() {
        time += if index == 0 { 0 } else { 10 };
        if let Some(place) = fast.iter().position(|other| *other == page) {
            fast.remove(place);
        } else {
            time += 1 + 4 + 8;
            let place = between.iter().position(|other| *other == page);
            if known.insert(page) {
                first += 1;
            } else if let Some(place) = place {
                between.remove(place);
                middle_reads += 1;
                time += 2 + 20;
            } else {
                reads += 1;
                time += 2 + 100;
            }
            if fast.len() == dram {
                // Both writes begin at once, and the thread waits for both.
                let mut wait = 300;
                middle_writes += 1;
                if between.len() == middle {
                    let oldest = between.remove(0);
                    if copies.insert(oldest, true) != Some(true) {
                        writes += 1;
                        wait = 1000;
                    }
                }
                between.push(fast.remove(0));
                time += 16 + wait;
            }
        }
        fast.push(page);
        if write && let Some(is_current) = copies.get_mut(&page) {
            *is_current = false;
        }
    }
    (time, first, reads, writes, middle_reads, middle_writes)
}

/// Touches of a few pages, and whether they write.
fn steps() -> impl Strategy<Value = Vec<(u64, bool)>> {
    prop::collection::vec((0u64..14, any::<bool>()), 1..200)
}

proptest! {
    #[test]
    fn the_simulation_adds_up_as_the_twin_does(
        pages in steps(),
        dram in 1usize..6,
        middle in 1usize..8,
        block in 1usize..50,
    ) {
        let outcome = simulate(machine(dram, middle), &[touches(&pages)], block);
        prop_assert_eq!(found(&outcome), twin(&pages, dram, middle));
    }

    /// One that has room for all is the tier of a machine with two memories, which keeps no page of
    /// DRAM. Threads, pages given back and a buffer change nothing of that. All touches write: a
    /// page that comes back while it is being written has a copy in the tier, and none in the
    /// middle.
    #[test]
    fn room_for_all_is_a_tier(
        touched in prop::collection::vec((0u16..3, 0u64..40), 1..300),
        given_back in prop::collection::vec((0u64..300, 0u64..40), 0..20),
        dram in 3usize..12,
        buffer in 0usize..6,
    ) {
        let accesses: Vec<Access> = touched
            .iter()
            .enumerate()
            .map(|(at, &(thread, page))| touch(thread, 10 * (at as u64 + 1), page, true))
            .collect();
        let mut discards: Vec<Discard> = given_back
            .iter()
            .map(|&(row, page)| Discard { row, process: 0, page, pages: 1 })
            .collect();
        discards.sort_by_key(|discard| discard.row);
        let chain = PageMachine {
            eviction_buffer: buffer,
            ..machine(dram, 40)
        };
        let mut pair = PageMachine {
            inclusion: Inclusion::Exclusive,
            middle: None,
            ..chain.clone()
        };
        pair.tier.timing = timing();
        let simulated = |machine| simulate_traces(machine, vec![trace_with(&accesses, &discards, 64)]);
        let (chain, pair) = (simulated(chain), simulated(pair));
        let (in_chain, mut in_pair) = (chain.counts, pair.counts);
        (in_pair.middle_reads, in_pair.reads) = (in_pair.reads, 0);
        (in_pair.middle_writes, in_pair.writebacks) = (in_pair.writebacks, 0);
        prop_assert_eq!(in_chain, in_pair);
        prop_assert_eq!(chain.times, pair.times);
        prop_assert_eq!(chain.time(), pair.time());
        prop_assert_eq!(chain.latencies, pair.latencies);
    }
}

/// Pages 0 to 4 fill DRAM and the middle of two pages each; then each touch moves one page down at
/// each border.
#[test]
fn a_page_is_written_to_the_tier_once_and_dropped_when_it_comes_again_unchanged() {
    let written: Vec<(u64, bool)> = (0..5).map(|page| (page, true)).collect();
    let outcome = simulate(machine(2, 2), &[touches(&written)], 99);
    assert_eq!(outcome.counts.middle_writes, 3);
    assert_eq!(outcome.counts.writebacks, 1, "page 0");
    // Page 0 comes back, is only read, and leaves both memories again. Of the pages that go on
    // meanwhile, 1 to 4 were never in the tier.
    let again = [(0, false), (5, true), (6, true), (7, true), (8, true)];
    let all = [written, again.to_vec()].concat();
    let outcome = simulate(machine(2, 2), &[touches(&all)], 99);
    assert_eq!(outcome.counts.reads, 1, "page 0");
    assert_eq!(outcome.counts.middle_writes, 8);
    assert_eq!(outcome.counts.writebacks, 5, "pages 0, 1, 2, 3 and 4");
}

/// A line that a cache writes back makes the page dirty where it is: no transfer of its own.
#[test]
fn a_line_written_back_to_a_page_on_its_way_goes_on_with_it() {
    // Page 0 goes to the tier, comes back, and goes to the middle unchanged, from where 9 to 12
    // drive it.
    let pages = [0, 1, 2, 3, 4, 0, 5, 6, 9, 10, 11, 12];
    let written = |back: Option<usize>| {
        let mut accesses: Vec<Access> = (1..)
            .zip(pages)
            .map(|(step, page)| touch(0, 10 * step, page, false))
            .collect();
        if let Some(at) = back {
            accesses.insert(at, touch(0, 10 * at as u64 + 5, 0, true));
        }
        simulate_traces(machine(2, 2), vec![requests(&accesses, 99)]).counts
    };
    let without = written(None);
    assert_eq!((without.reads, without.middle_reads), (1, 0));
    let with = written(Some(8));
    assert_eq!(with.line_writebacks, 1);
    assert_eq!(with.writebacks, without.writebacks + 1);
    assert_eq!(with.middle_writes, without.middle_writes);
}

#[test]
fn a_policy_that_writes_pages_that_stay_is_refused() {
    let mut machine = machine(8, 8);
    machine.replacement = replacement::Spec::parse("linux").expect("it is there");
    let workload = Workload::new(vec![trace(&touches(&[(0, true)]), 9)], None);
    let refused = run(workload.expect("one program"), vec![machine], None, |_| {});
    let problem = refused.expect_err("it is refused").to_string();
    assert!(
        problem.contains("‘middle’ is for pages that leave it"),
        "{problem}"
    );
}
