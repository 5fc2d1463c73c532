//! What holds of every policy and every trace.

use std::collections::HashSet;

use proptest::prelude::*;
use terrace_policy::llc::REGISTRY;
use terrace_sim::llc::{LevelCounts, Outcome, Warmup};
use terrace_trace::Access;

use crate::replay::{Ran, Replay, accesses, settings, shape, simulate};

/// Every policy, and settings that some have.
fn policies() -> Vec<&'static str> {
    let names = REGISTRY.iter().map(|entry| entry.name);
    names.chain(["nhm:n=0,insert=lh,dirty=lh"]).collect()
}

/// What is in a result, to be compared.
fn all(outcome: &Outcome) -> String {
    format!("{outcome:?}")
}

/// The lines of 64 bytes that an access touches, within its process.
fn numbers(access: &Access) -> impl Iterator<Item = (u16, u64)> {
    let (process, last) = (
        access.process,
        access.address + u64::from(access.size.max(1)) - 1,
    );
    (access.address / 64..=last / 64).map(move |line| (process, line))
}

/// How many they are.
fn lines(access: &Access) -> u64 {
    numbers(access).count() as u64
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
        let absent = |outcome: &Outcome| outcome.counts.misses() + outcome.counts.writeback_misses();
        let optimum = whole.pass.outcomes.iter().find(|outcome| outcome.llc.policy.entry().name == "opt");
        let least = optimum.map(absent);
        for (whole, part) in whole.pass.outcomes.iter().zip(&parts.pass.outcomes) {
            prop_assert!(least <= Some(absent(whole)), "{}", whole.llc.policy);
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
                if let Some(positions) = &outcome.positions {
                    prop_assert_eq!(positions.iter().sum::<u64>(), counts.hits());
                }
                for memory in &outcome.memories[..1] {
                    let before = memory.transfers.all_writes() as i64 - counts.writebacks() as i64;
                    prop_assert!((0..=4).contains(&before), "those that waited in the buffer");
                    prop_assert_eq!(memory.transfers.all_reads(), counts.misses());
                }
                let cached = &outcome.memories[1];
                prop_assert!(cached.transfers.all_reads() <= counts.accesses());
            }
            let begin = part.warmup.unwrap_or_default();
            prop_assert_eq!(whole.counts - begin, part.counts);
            prop_assert_eq!(part.warmup.is_some(), warmup <= whole.counts.accesses());
            let last = part.points.last().map(|point| point.counts).unwrap_or_default();
            prop_assert_eq!(last, whole.counts, "the last epoch ends with the trace");
            prop_assert_eq!(part.points.len() as u64, whole.counts.accesses().div_ceil(7));
        }
    }

    /// What one level misses and writes back is what the next one is asked for.
    #[test]
    fn levels_hand_on_what_they_have_not_got(
        accesses in accesses(),
        first in prop::option::of(shape()),
        second in prop::option::of(shape()),
        llc in shape(),
    ) {
        let settings = settings(64, [first, second], llc, &["lru"]);
        let ran = simulate(&settings, &[&Replay::new(accesses.clone(), 64)], 2);
        let counts = ran.pass.outcomes[0].counts;
        let touches = |of: fn(&&Access) -> bool| -> u64 { accesses.iter().filter(of).map(lines).sum() };
        // What comes down from above: what is asked for, and what is written back at most.
        let mut above = (touches(|_| true), touches(|access| access.write));
        for (level, is_there) in ran.pass.private.iter().zip([first, second]) {
            prop_assert_eq!(level.is_some(), is_there.is_some());
            let Some(level) = level else { continue };
            prop_assert_eq!(level.accesses, above.0);
            prop_assert!(level.misses <= level.accesses);
            prop_assert!(level.writebacks <= above.1);
            above = (level.misses, level.writebacks);
        }
        if first.or(second).is_some() {
            prop_assert_eq!(counts.loads.all() + counts.stores.all(), above.0);
            prop_assert_eq!(counts.from_above.all(), above.1);
        }
        prop_assert!(counts.dirtied <= above.1);
        prop_assert!(counts.writebacks() <= counts.dirtied);
        let reads = ran.traffic.iter().filter(|row| !row.write).count() as u64;
        let writes = ran.traffic.iter().filter(|row| row.write).count() as u64;
        prop_assert_eq!((reads, writes), (counts.misses(), counts.writebacks()));
    }

    /// Every line that was stored to is written to memory, or dirty in the end; none other is.
    /// So that the private levels keep none of them, so many others are read in the end.
    #[test]
    fn what_was_stored_is_not_lost(
        mut accesses in accesses(),
        first in prop::option::of(shape()),
        second in prop::option::of(shape()),
        llc in shape(),
        policy in prop::sample::select(policies()),
        cores in 1..4_u16,
    ) {
        let stored = accesses.iter().filter(|access| access.write).flat_map(numbers);
        let stored: HashSet<(u16, u64)> = stored.collect();
        for (thread, line) in (0..4).flat_map(|thread| (0..300).map(move |line| (thread, line))) {
            accesses.push(Access {
                instruction: 1 << 40,
                address: 0x1000_0000 + line * 64,
                ip: 0x500,
                process: thread / 2,
                thread,
                size: 8,
                write: false,
            });
        }
        let settings = settings(64, [first, second], llc, &[policy]);
        let ran = simulate(&settings, &[&Replay::new(accesses, 64)], cores.into());
        let written = ran.traffic.iter().filter(|row| row.write).flat_map(numbers);
        let written: HashSet<(u16, u64)> = written.collect();
        prop_assert!(written.is_subset(&stored), "a clean line was written");
        let kept = stored.difference(&written).count() as u64;
        prop_assert!(kept <= ran.pass.outcomes[0].dirty_at_end, "{} under {}", kept, policy);
    }

    /// A program on several cores makes the same accesses, and its cores share the last level only.
    #[test]
    fn cores_are_as_many_machines_before_one_cache(
        accesses in accesses(), cores in 1..5_u16, llc in shape(),
    ) {
        let settings = settings(64, [Some((2, 2)), Some((3, 3))], llc, &["lru"]);
        let all = simulate(&settings, &[&Replay::new(accesses.clone(), 64)], cores.into());
        prop_assert_eq!(all.pass.accesses, accesses.len() as u64);
        prop_assert_eq!(all.pass.instructions.len(), usize::from(cores));
        let (mut requests, mut private) = (0, [LevelCounts::default(); 2]);
        for core in 0..cores {
            let of_core = |access: &&Access| access.thread % cores == core;
            let own: Vec<Access> = accesses.iter().filter(of_core).copied().collect();
            if own.is_empty() {
                prop_assert_eq!(all.pass.instructions[usize::from(core)], 0);
                continue;
            }
            let alone = simulate(&settings, &[&Replay::new(own, 64)], 1);
            prop_assert_eq!(all.pass.instructions[usize::from(core)], alone.pass.instructions[0]);
            let rows = |ran: &Ran, core| {
                let rows = ran.requests.iter().filter(|row| row.thread == core);
                rows.map(|row| (row.process, row.address, row.write, row.ip)).collect::<Vec<_>>()
            };
            prop_assert_eq!(rows(&all, core), rows(&alone, 0));
            requests += alone.requests.len();
            for (sum, level) in private.iter_mut().zip(alone.pass.private) {
                *sum = *sum + level.unwrap_or_default();
            }
        }
        prop_assert_eq!(all.requests.len(), requests);
        prop_assert_eq!(all.pass.private.map(Option::unwrap_or_default), private);
        let shared = all.pass.outcomes[0].counts;
        prop_assert_eq!(shared.accesses(), requests as u64);
        let memory = &all.pass.outcomes[0].memories[0];
        let executed = memory.cores.iter().map(|(instructions, _)| *instructions);
        prop_assert_eq!(executed.collect::<Vec<_>>(), all.pass.instructions);
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
        let Some(later) = ran.again(llc, &policies, 3) else {
            return Ok(());
        };
        let rows = |rows: &[terrace_trace::Access]| rows.iter().map(|row| (row.address, row.write, row.size, row.ip)).collect::<Vec<_>>();
        prop_assert_eq!(rows(&later.requests), rows(&ran.requests));
        for (one, other) in ran.pass.outcomes.iter().zip(&later.pass.outcomes) {
            prop_assert_eq!(one.counts, other.counts);
            prop_assert_eq!(&one.positions, &other.positions);
        }
    }
}
