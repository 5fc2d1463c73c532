//! Lines that are written before they are evicted: laws, and programs of known outcome. (Lists
//! of the same are in `sim/src/llc/shared/tests.rs`, because they need the memory's time.)

use std::collections::HashSet;

use proptest::prelude::*;
use terrace_sim::llc::{Inclusion, LlcMachine, Outcome, Prefetching, Warmup, WriteBack};
use terrace_trace::Access;

use crate::replay::{Replay, accesses, memory, settings, shape, simulate};

const EARLY: [WriteBack; 3] = [WriteBack::Eager, WriteBack::Rows, WriteBack::LastWrite];

fn line(row: &Access) -> (u16, u64) {
    (row.process, row.address / 64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// Every line that is written to memory was written by the program and is counted, and none
    /// that was is lost, in any hierarchy.
    #[test]
    fn writes_are_conserved(
        accesses in accesses(),
        (first, second) in (shape(), shape()),
        llc in (1..6_usize, 1..9_usize),
        cores in 1..5_usize,
        write_back in prop::sample::select(EARLY.to_vec()),
        policy in prop::sample::select(vec!["lru", "dip", "dblk:bypass=off", "nhm:n=1,insert=lh,dirty=lh", "ari:epoch=40"]),
        prefetching in prop::sample::select(vec![Prefetching::Off, Prefetching::Stride]),
        inclusion in prop::sample::select(vec![Inclusion::NonInclusive, Inclusion::Inclusive]),
        warmup in 0..100_u64,
    ) {
        let machine = LlcMachine {
            memories: vec![memory("pcm-row", None)],
            write_back,
            prefetching,
            inclusion,
            epoch: Some(7),
            ..settings(64, [Some(first), Some(second)], llc, &[policy])
        };
        let replay = Replay::new(accesses, 64);
        let whole = simulate(&machine, &[&replay], cores);
        let later = LlcMachine { warmup: Warmup::Requests(warmup), ..machine };
        let part = simulate(&later, &[&replay], cores);
        prop_assert_eq!(&whole.traffic, &part.traffic);
        let (whole_of, part_of) = (&whole.pass.outcomes[0], &part.pass.outcomes[0]);
        for outcome in [whole_of, part_of] {
            let counts = outcome.counts;
            let left = counts.writebacks() + outcome.dirty_at_end;
            prop_assert_eq!(counts.dirtied + outcome.dirty_at_begin, left);
            prop_assert_eq!(outcome.early.unwrap().writes, counts.early_writes);
        }
        let (whole_early, early) = (whole_of.early.unwrap(), part_of.early.unwrap());
        prop_assert!(whole_early.premature <= whole_early.writes);
        prop_assert!(early.writes <= whole_early.writes && early.premature <= whole_early.premature);
        prop_assert!(early.idle <= whole_early.idle);
        prop_assert!(write_back != WriteBack::Rows || early.idle.0 == 0);
        let counts = whole_of.counts;
        let last = whole_of.points.last().map(|point| point.counts).unwrap_or_default();
        prop_assert_eq!(last.writebacks(), counts.writebacks());
        prop_assert_eq!(whole_of.memories[0].transfers.all_writes(), counts.writebacks());
        let written = whole.traffic.iter().filter(|row| row.write);
        prop_assert_eq!(written.clone().count() as u64, counts.writebacks());
        let stores = replay.accesses.iter().filter(|access| access.write);
        let stored: HashSet<(u16, u64)> = stores
            .flat_map(|access| {
                let end = access.address + u64::from(access.size.max(1)) - 1;
                (access.address / 64..=end / 64).map(|line| (access.process, line))
            })
            .collect();
        prop_assert!(written.map(line).all(|line| stored.contains(&line)), "a clean line was written");
    }

    /// Which of several policies is simulated first matters only where cores take turns by it.
    #[test]
    fn policies_side_by_side_write_as_each_alone(
        accesses in accesses(), llc in shape(), write_back in prop::sample::select(EARLY.to_vec()),
    ) {
        let policies = ["lru", "nhm:n=1", "ari:epoch=40"];
        let machine = |policies: &[&str]| LlcMachine {
            memories: vec![memory("dram", None)],
            write_back,
            ..settings(64, [Some((2, 2)), None], llc, policies)
        };
        let replay = Replay::new(accesses, 50);
        let all = simulate(&machine(&policies), &[&replay], 1);
        for (policy, outcome) in policies.iter().zip(&all.pass.outcomes) {
            let alone = simulate(&machine(&[policy]), &[&replay], 1);
            prop_assert_eq!(format!("{outcome:?}"), format!("{:?}", alone.pass.outcomes[0]));
        }
    }
}

/// Stores to some lines again and again, `step` instructions apart, without private levels.
fn stores(count: u64, lines: u64, step: u64) -> Replay {
    let store = |index| Access {
        instruction: step * index,
        address: (1 << 30) + index % lines * 64,
        ip: 0x400,
        size: 8,
        write: true,
        ..Access::default()
    };
    Replay::new((0..count).map(store).collect(), 999)
}

fn ran(write_back: WriteBack, policy: &str, replay: &Replay) -> Outcome {
    let machine = LlcMachine {
        memories: vec![memory("pcm-row", None)],
        write_back,
        ..settings(64, [None, None], (256, 16), &[policy])
    };
    simulate(&machine, &[replay], 1).pass.outcomes.remove(0)
}

/// 8,192 lines go through a cache of 4,096, each written once a round. Whoever writes a line early
/// writes it instead of evicting it, and none is written more often.
#[test]
fn a_stream_is_written_once_whenever() {
    let stream = stores(32_768, 8_192, 400);
    let demand = ran(WriteBack::Demand, "lru", &stream);
    assert_eq!(demand.early, None);
    assert_eq!(demand.counts.writebacks(), 32_768 - 4_096);
    for write_back in [WriteBack::Eager, WriteBack::Rows] {
        let early = ran(write_back, "lru", &stream);
        let writes = early.early.unwrap();
        assert_eq!(writes.premature, 0, "{write_back:?}");
        let sum = early.counts.writebacks() + early.dirty_at_end;
        assert_eq!(sum, 32_768, "{write_back:?}");
        let least = if write_back == WriteBack::Eager {
            28_672
        } else {
            14_000
        };
        assert!(writes.writes > least, "{write_back:?}: {}", writes.writes);
    }
}

/// 256 lines of each set's 16 stay in the cache and are written round after round. The last quarter
/// of the order is written early each time, one write too many each.
#[test]
fn what_is_written_again_was_written_too_early() {
    let rounds = stores(40_960, 4_096, 400);
    assert_eq!(
        ran(WriteBack::Demand, "lru", &rounds).counts.writebacks(),
        0
    );
    let eager = ran(WriteBack::Eager, "lru", &rounds);
    let early = eager.early.unwrap();
    assert_eq!(eager.counts.writebacks(), early.writes);
    assert!(early.writes > 8 * 4_096, "{}", early.writes);
    assert!(early.premature + 4_096 >= early.writes);
    // Nothing leaves the sampler's sets either, so no write is taken for the last.
    assert_eq!(
        ran(WriteBack::LastWrite, "lru", &rounds)
            .counts
            .writebacks(),
        0
    );
    // Nothing is evicted, so that no row is written.
    assert_eq!(ran(WriteBack::Rows, "lru", &rounds).counts.writebacks(), 0);
    // The high-hit ways are all there are.
    assert_eq!(
        ran(WriteBack::Eager, "nhm:n=16", &rounds)
            .counts
            .writebacks(),
        0
    );
}

/// Loads that miss, and a store to every fourth line, `step` instructions apart, each line in a row
/// of its own.
fn rows(step: u64) -> Replay {
    let access = |index: u64| Access {
        instruction: step * index,
        address: (1 << 30) + index * 8192 * 64,
        ip: 0x400,
        size: 8,
        write: index.is_multiple_of(4),
        ..Access::default()
    };
    Replay::new((0..40_000).map(access).collect(), 999)
}

/// Where loads come faster than the memory serves them there is hardly idle time.
#[test]
fn a_busy_memory_has_no_idle_time() {
    let early = |step| ran(WriteBack::Eager, "nhm:n=0", &rows(step)).early.unwrap();
    assert_eq!(early(4000).writes, 10_000);
    let busy = early(1).writes;
    assert!(busy < 1_000, "{busy}");
}

/// Writes of a row follow each other where it is open.
#[test]
fn lines_of_a_row_are_written_together() {
    // The lines of 64 rows, round after round in an order in which neighbours are of other rows.
    let access = |index: u64| Access {
        instruction: 4000 * index,
        address: (1 << 30) + index * 5063 % 8192 * 64,
        ip: 0x400,
        size: 8,
        write: true,
        ..Access::default()
    };
    let replay = Replay::new((0..40_000).map(access).collect(), 999);
    let share = |write_back| {
        let lines = ran(write_back, "lru", &replay).memories[0].transfers;
        lines.writes_in_row as f64 / lines.all_writes() as f64
    };
    let (demand, rows) = (share(WriteBack::Demand), share(WriteBack::Rows));
    assert!(demand < 0.1 && rows > 0.5, "{demand} {rows}");
}
