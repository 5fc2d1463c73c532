//! What holds for every policy, and worked examples.

use std::collections::HashSet;

use proptest::prelude::*;
use terrace_base::Bytes;
use terrace_policy::replacement;
use terrace_sim::pages::{Initial, Outcome, PageMachine, run};
use terrace_sim::workload::Workload;
use terrace_trace::Access;

use super::{Load, Looked, POLICIES, READ, know_seesaw, looked, machine, program, server, steps};
use crate::machine::{predictor, simulate, stream, touch, trace};

proptest! {
    /// No more is held than there is, whatever else moves pages, and every look is told.
    #[test]
    fn looks_add_up(
        steps in steps(),
        dram in 1..12_usize,
        buffer in 0..4_usize,
        fetches in any::<bool>(),
        linux in any::<bool>(),
    ) {
        know_seesaw();
        for policy in POLICIES {
            let mut machine = PageMachine {
                eviction_buffer: buffer,
                ..machine(dram, policy)
            };
            if fetches {
                machine.prefetch = stream();
            }
            if linux {
                machine.replacement = replacement::Spec::parse("linux").unwrap();
            }
            let outcome = simulate(machine, &[program(&steps)], 99);
            let controlled = outcome.control.clone().expect("there is a policy");
            let sum = |part: fn(&Looked) -> u64| looked(&outcome).iter().map(part).sum::<u64>();
            prop_assert_eq!(controlled.looks, outcome.time().0 / 1_000_000);
            prop_assert_eq!(controlled.reclaimed, Bytes::of_pages(sum(|look| look.3)));
            prop_assert_eq!(controlled.given_back, Bytes::of_pages(sum(|look| look.4)));
            prop_assert!(looked(&outcome).iter().all(|look| look.1 <= dram as u64));
            prop_assert!(controlled.dram_least <= Bytes::of_pages(dram as u64));
            prop_assert!(outcome.counts.evictions >= sum(|look| look.3));
            prop_assert!((0.0..=1.0).contains(&controlled.stalls));
        }
    }
}

#[test]
fn the_budget_of_writes_is_kept() {
    let mut load = Load::new(2_000);
    load.scan(0..3_000);
    load.hot(500, 300);
    let run = |writes| {
        let machine = PageMachine {
            control_writes: writes,
            ..server("fixed:dram=1M")
        };
        simulate(machine, &[load.accesses.clone()], 4096)
    };
    let written = |outcome: &Outcome| outcome.counts.writebacks;
    let (free, bound) = (run(None), run(Some(1 << 20)));
    assert!(written(&free) > 2_000);
    // A day's amount is there at the start; what comes in meanwhile is less than a page.
    assert_eq!(written(&bound), 256);
    let controlled = bound.control.expect("there is a policy");
    assert!(controlled.unpaid > 200, "{controlled:?}");
    assert_eq!(free.control.expect("there is a policy").unpaid, 0);
}

#[test]
fn the_worst_second_is_a_whole_one() {
    // Half a second without a stall, then pages that left, one in a millisecond.
    let mut load = Load::new(1_000);
    load.scan(0..1_000);
    load.hot(1, 2);
    let quiet = load.now;
    load.scan(1..1_000);
    load.hot(1, 2);
    let outcome = simulate(server("fixed:dram=4K,every=100ms"), &[load.accesses], 999);
    let controlled = outcome.control.expect("there is a policy");
    let worst = controlled.stalls_worst.expect("there are whole seconds");
    // 1 ms and 115 us a touch, from 3 s on.
    let lost = (READ + 1 + 2 + 4 + 8) as f64;
    let expected = lost / (1e6 + lost);
    assert_eq!(quiet / 1_000_000_000, 3);
    assert!((worst - expected).abs() < 0.003, "{worst} {expected}");
}

/// What is refused, as a sentence.
fn refused(machine: PageMachine) -> String {
    let traces = vec![trace(&[touch(0, 1, 1, true)], 9)];
    let workload = Workload::new(traces, None).unwrap();
    run(workload, vec![machine], None, |_| {})
        .unwrap_err()
        .to_string()
}

#[test]
fn what_cannot_be_controlled_is_refused() {
    let staged = PageMachine {
        staging: 4,
        ..machine(9, "senpai")
    };
    assert!(refused(staged).contains("‘staging’"));
}

#[test]
fn several_threads_are_judged_by_those_that_run() {
    // One of two threads reads page after page, the other computes: half of both is lost, and all
    // of the only one that is left.
    let program = |pages: u64| {
        let reader = (0..pages).map(|at| touch(1, at, at, false));
        let other = (0..100).map(|at| touch(0, at * 1_000_000, 1 << 20, false));
        let accesses: Vec<Access> = other
            .zip(reader)
            .flat_map(|(one, other)| [one, other])
            .collect();
        let machine = PageMachine {
            initial: Initial::Tier,
            ..machine(1 << 16, "fixed:dram=1G,every=1ms")
        };
        simulate(machine, &[accesses], 64)
    };
    let outcome = program(1_000);
    let shares: Vec<f64> = outcome
        .looks
        .iter()
        .filter_map(|look| look.stalls())
        .collect();
    assert_eq!(shares.len(), 99);
    let near = |share: f64, expected: f64| (share - expected).abs() < 0.01;
    assert!(
        shares[1..9].iter().all(|share| near(*share, 0.5)),
        "{shares:?}"
    );
    assert!(shares[12..].iter().all(|share| *share == 0.0), "{shares:?}");
}

#[test]
fn predictors_and_control_go_together() {
    let mut load = Load::new(1_000);
    load.scan(0..600);
    load.hot(1, 3);
    load.scan(0..600);
    let mut machine = server("fixed:dram=40K,every=100ms");
    machine.prefetch = predictor("stream");
    let outcome = simulate(machine, &[load.accesses], 64);
    let known: HashSet<u64> = outcome.looks.iter().map(|look| look.looks).collect();
    assert_eq!(known, HashSet::from([1]));
    assert!(outcome.story.used > 100, "{:?}", outcome.story);
}
