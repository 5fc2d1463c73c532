//! What holds of every machine, and what turns do.

use proptest::prelude::*;
use terrace_sim::mix::Run;

use crate::tasks::{Replay, random, simulate, simulate_one};

/// Four tasks that fit into half of the last level each, and not together.
fn refilling() -> Vec<Replay> {
    let lines = (512 << 10) / 2 / 64;
    (0..4)
        .map(|task| random(lines, 20 + task, 1 << 19))
        .collect()
}

const SMALL: [(&str, &str); 3] = [("llc", "512K"), ("warmup", "20ms"), ("time", "200ms")];

fn longest_turn(run: &Run) -> f64 {
    let turns = run.tasks().iter().filter_map(|task| task.turn());
    turns.map(|turn| turn.0 as f64).fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Every core is busy all the time, and its tasks receive equal time.
    #[test]
    fn time_is_shared_evenly_and_none_is_lost(
        lines in prop::collection::vec((50..20_000_u64, 10..60_u64), 2..7),
        turn in prop_oneof![
            Just("off"), Just("static:turn=500us"), Just("refill:least=100us,most=2ms,turn=1ms"), Just("fill:share=0.2,least=100us,most=2ms,turn=1ms")
        ],
        private in any::<bool>(),
    ) {
        let tasks: Vec<Replay> = lines.iter().map(|(lines, step)| random(*lines, *step, 1 << 14)).collect();
        let cores = if tasks.len() % 2 == 0 { "2" } else { "1" };
        let (l1, flush) = if private { ("4K:2", "flush") } else { ("off", "keep") };
        let settings = [
            ("llc", "256K"), ("warmup", "1ms"), ("time", "12ms"), ("turn", turn), ("cores", cores),
            ("l1", l1), ("private", flush), ("slice", "1ms"),
        ];
        let run = simulate_one(&tasks, &settings);
        let most: f64 = if turn.contains("2ms") { 2e9 } else { 1e9 };
        for core in 0..cores.parse().unwrap() {
            let on_core = || run.tasks().iter().filter(move |task| task.core == core);
            let time = |task: &terrace_sim::mix::TaskOutcome| task.counts.time as f64;
            let sum: f64 = on_core().map(time).sum();
            let turns: u64 = on_core().map(|task| task.counts.turns).sum();
            // The rest are switches of 3 us, and a step beyond the end.
            let rest = 12e9 - sum;
            prop_assert!(rest <= (turns + 2) as f64 * 3.1e6 && rest > -100e6, "{rest}");
            let times: Vec<f64> = on_core().map(time).collect();
            let apart = times.iter().copied().fold(0.0, f64::max) - times.iter().copied().fold(f64::MAX, f64::min);
            // The difference at the end, and that at the end of the warm-up.
            prop_assert!(apart <= 2.0 * most + 200e6, "{apart}");
        }
        let capacity = (256 << 10) / 64;
        prop_assert!(run.outcome.filled <= capacity);
        for task in run.tasks() {
            let counts = &task.counts;
            prop_assert!(counts.misses <= counts.requests);
            prop_assert!(counts.turned <= counts.time + 2_000_000_000);
            let curve: u64 = counts.curve.iter().map(|bin| bin.misses).sum();
            prop_assert_eq!(curve, counts.misses);
            let time: u64 = counts.curve.iter().map(|bin| bin.time).sum();
            prop_assert_eq!(time, counts.time);
            if let Some(lost) = task.lost() {
                prop_assert!((0.0..=1.0).contains(&lost));
            }
        }
    }
}

/// Figure 3.5: longer turns cost fewer misses and less time, less and less so.
#[test]
fn longer_turns_spread_the_refill() {
    let turns =
        "off,static:turn=400us,static:turn=800us,static:turn=1600us,refill:least=200us,most=3ms";
    let slice = ("slice", "200us");
    let simulated = simulate(
        &refilling(),
        &[&SMALL[..], &[("turn", turns), slice]].concat(),
    );
    let base = &simulated.runs[0];
    let slowdowns: Vec<f64> = simulated
        .runs
        .iter()
        .map(|run| run.slowdown(base).unwrap())
        .collect();
    assert!(slowdowns[..4].is_sorted_by(|a, b| a > b), "{slowdowns:?}");
    assert!(slowdowns[4] < slowdowns[1], "{slowdowns:?}");
    let misses = simulated
        .runs
        .iter()
        .map(|run| run.misses_against(base).unwrap());
    assert!(misses.clone().take(4).is_sorted_by(|a, b| a > b));
    // Each task comes back to a cache that others have filled.
    let task = &base.tasks()[0];
    assert!(
        task.replaced().unwrap() > 0.2 && task.lost().unwrap() > 0.2,
        "{task:?}"
    );
    assert!((longest_turn(&simulated.runs[3]) / 1.6e6 - 1.0).abs() < 0.05);
}

/// Figure 3.3: misses are many in the first millisecond of a turn, and few later.
#[test]
fn misses_fall_after_a_switch() {
    let settings = [("turn", "static:turn=3ms"), ("time", "24ms")];
    let run = simulate_one(&refilling(), &[&SMALL[..2], &settings].concat());
    let curve: Vec<f64> = run.tasks()[0].curve().flatten().collect();
    assert!(curve[0] > 3.0 * curve[2], "{curve:?}");
}

/// Tasks that fit together: turns make no difference.
#[test]
fn tasks_that_fit_do_not_care() {
    let tasks: Vec<Replay> = (0..4).map(|task| random(900, 20 + task, 1 << 16)).collect();
    let turns = [("turn", "off,static:turn=2ms,refill"), ("switch", "0")];
    let simulated = simulate(&tasks, &[&SMALL[..], &turns].concat());
    for run in &simulated.runs {
        let slowdown = run.slowdown(&simulated.runs[0]).unwrap();
        assert!(
            (slowdown - 1.0).abs() < 0.01,
            "{}: {slowdown}",
            run.machine.turns
        );
    }
}

/// The best case of 3.5.2 costs no more than any turns, and a partition keeps each task's lines.
#[test]
fn a_partition_keeps_lines() {
    let settings = [
        ("turn", "off"),
        ("partition", "off,equal,alone"),
        ("slice", "1ms"),
    ];
    let simulated = simulate(&refilling(), &[&SMALL[..], &settings].concat());
    let base = &simulated.runs[0];
    for run in &simulated.runs[1..] {
        assert_eq!(
            run.tasks()[1].lost(),
            Some(0.0),
            "{}",
            run.machine.partition
        );
    }
    let slowdown = |at: usize| simulated.runs[at].slowdown(base).unwrap();
    assert!(
        slowdown(2) < slowdown(1) && slowdown(2) < 0.9,
        "{} {}",
        slowdown(1),
        slowdown(2)
    );
}

/// Emptied private levels ask for their lines again.
#[test]
fn flushed_private_levels_cost_requests() {
    let tasks: Vec<Replay> = (0..2).map(|task| random(40, 20 + task, 1 << 14)).collect();
    let of = |private| {
        let levels = [
            ("l1", "8K:2"),
            ("turn", "static:turn=1ms"),
            ("private", private),
        ];
        let run = simulate_one(&tasks, &[&SMALL[..], &levels].concat());
        run.tasks()
            .iter()
            .map(|task| task.counts.requests)
            .sum::<u64>()
    };
    let (keep, flush) = (of("keep"), of("flush"));
    assert!(flush > keep + 15 * 40, "{keep} {flush}");
}
