//! What holds of every policy and every trace.

use proptest::prelude::*;
use terrace_policy::llc::REGISTRY;
use terrace_sim::llc::{Counts, Outcome, Warmup};

use crate::replay::{Replay, accesses, settings, shape, simulate};

/// Every policy, and settings that some have.
fn policies() -> Vec<&'static str> {
    let names = REGISTRY.iter().map(|entry| entry.name);
    names.chain(["nhm:n=0,insert=lh,dirty=lh"]).collect()
}

/// What is in a result, to be compared.
fn all(outcome: &Outcome) -> String {
    format!("{outcome:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn nothing_is_lost(
        accesses in accesses(),
        first in prop::option::of(shape()),
        second in prop::option::of(shape()),
        llc in (1..6_usize, 1..9_usize),
        warmup in 0..300_u64,
    ) {
        let mut settings = settings(64, [first, second], llc, &policies());
        let replay = Replay::new(accesses, 64);
        let whole = simulate(&settings, &[&replay], 2);
        settings.warmup = Warmup::Requests(warmup);
        settings.epoch = Some(7);
        let parts = simulate(&settings, &[&replay], 2);
        prop_assert_eq!(&whole.requests, &parts.requests);
        if let Some(second) = whole.pass.private[1] {
            let counts = whole.pass.outcomes[0].counts;
            prop_assert_eq!(counts.loads.all() + counts.stores.all(), second.misses);
            prop_assert_eq!(counts.from_above.all(), second.writebacks);
        }
        for (whole, part) in whole.pass.outcomes.iter().zip(&parts.pass.outcomes) {
            for outcome in [whole, part] {
                let counts = outcome.counts;
                let ends = counts.hits() + counts.misses() + counts.writeback_misses();
                prop_assert_eq!(ends, counts.accesses());
                prop_assert_eq!(
                    counts.dirtied + outcome.dirty_at_begin,
                    counts.writebacks() + outcome.dirty_at_end,
                    "{}", outcome.llc.policy
                );
                prop_assert!(counts.dirtied <= counts.from_above.all());
                for memory in &outcome.memories[..1] {
                    let before = memory.transfers.all_writes() as i64 - counts.writebacks() as i64;
                    prop_assert!((0..=4).contains(&before), "those that waited in the buffer");
                    prop_assert_eq!(memory.transfers.all_reads(), counts.misses());
                }
                let cached = &outcome.memories[1];
                prop_assert!(cached.transfers.all_reads() <= counts.accesses());
            }
            let begin = part.warmup.unwrap_or_default();
            let sum = |of: fn(&Counts) -> u64| of(&part.counts) + of(&begin);
            prop_assert_eq!(sum(Counts::hits), whole.counts.hits());
            prop_assert_eq!(sum(Counts::misses), whole.counts.misses());
            prop_assert_eq!(sum(Counts::writebacks), whole.counts.writebacks());
            prop_assert_eq!(part.warmup.is_some(), warmup <= whole.counts.accesses());
            let last = part.points.last().map(|point| point.counts).unwrap_or_default();
            prop_assert_eq!(last, whole.counts, "the last epoch ends with the trace");
            prop_assert_eq!(part.points.len() as u64, whole.counts.accesses().div_ceil(7));
        }
    }

    #[test]
    fn any_number_of_threads_finds_the_same(accesses in accesses(), llc in shape()) {
        let settings = settings(64, [Some((2, 2)), None], llc, &policies());
        let replay = Replay::new(accesses, 100);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let ran = pool.install(|| simulate(&settings, &[&replay, &replay], 4));
            ran.pass.outcomes.iter().map(all).collect::<Vec<_>>()
        };
        let one = run(1);
        prop_assert_eq!(&one, &run(2));
        prop_assert_eq!(&one, &run(5));
    }

    /// What was asked of the last level can be simulated later.
    #[test]
    fn requests_that_are_kept_find_the_same(accesses in accesses(), llc in shape()) {
        let policies = policies();
        let direct = settings(64, [Some((3, 2)), Some((2, 3))], llc, &policies);
        let replay = Replay::new(accesses, 100);
        let ran = simulate(&direct, &[&replay], 3);
        if ran.requests.is_empty() {
            return Ok(());
        }
        let mut kept = Replay::new(ran.requests.clone(), 10);
        kept.meta.about = vec![(terrace_sim::llc::MARK.to_owned(), "64".to_owned())];
        let later = settings(64, [None, None], llc, &policies);
        let later = simulate(&later, &[&kept], 3);
        let rows = |rows: &[terrace_trace::Access]| rows.iter().map(|row| (row.address, row.write, row.size, row.ip)).collect::<Vec<_>>();
        prop_assert_eq!(rows(&later.requests), rows(&ran.requests));
        for (one, other) in ran.pass.outcomes.iter().zip(&later.pass.outcomes) {
            prop_assert_eq!(one.counts, other.counts);
            prop_assert_eq!(&one.positions, &other.positions);
        }
    }
}
