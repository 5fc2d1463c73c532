//! Where nothing is shared, the simulation of a last-level cache without turns has the same misses
//! and time.

use proptest::prelude::*;
use terrace_base::Bytes;
use terrace_device::Catalogue;
use terrace_policy::llc::Spec;
use terrace_sim::llc::{self, Grid, Mix, Sinks};
use terrace_sim::setting::Given;

use crate::tasks::{Replay, random, simulate_one};

/// Accesses of a task: more than one makes in the time below, so that none begins anew.
const ACCESSES: u64 = 1 << 17;
const TIME: [(&str, &str); 3] = [("warmup", "0"), ("time", "200us"), ("pages", "virtual")];

/// Simulates the traces by `sim llc`, a program each on a core of its own.
fn without_turns(tasks: &[Replay], limit: Option<u64>, values: &[(&str, &str)]) -> llc::Outcome {
    let rest = [("l2", "off"), ("llc", "64K"), ("ways", "16")];
    let values = [values, &rest].concat();
    let grid = Grid::new(&Given::parse(&values).unwrap(), false).unwrap();
    let traces = tasks.iter().map(|task| ("t".to_owned(), task.open()));
    let mix = Mix::new(traces.collect(), None, limit).unwrap();
    let machine = grid.settings(&Catalogue::builtin(), mix.extent()).unwrap();
    assert_eq!(machine.llcs[0].policy, Spec::parse("lru").unwrap());
    assert_eq!(machine.llcs[0].size.bytes, Bytes(64 << 10));
    let pass = llc::run(&machine, mix, Sinks::default(), |_| ()).unwrap();
    pass.outcomes.into_iter().next().unwrap()
}

/// Returns the misses, and the time in nanoseconds, of the first accesses of a trace by `sim llc`.
fn slow(task: &Replay, accesses: u64, private: bool) -> (u64, u64) {
    let first = if private { "4K:2" } else { "off" };
    let outcome = without_turns(std::slice::from_ref(task), Some(accesses), &[("l1", first)]);
    (outcome.counts.misses(), outcome.memories[0].elapsed.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A single task, whatever its turns.
    #[test]
    fn a_single_task_is_a_program_alone(lines in 100..4000_u64, step in 10..40_u64) {
        let task = random(lines, step, ACCESSES);
        for turn in ["off", "static:turn=100us", "refill"] {
            let settings = [&TIME[..], &[("llc", "64K"), ("turn", turn)]].concat();
            let run = simulate_one(std::slice::from_ref(&task), &settings);
            let found = &run.tasks()[0].counts;
            let (misses, time) = slow(&task, found.requests, false);
            prop_assert_eq!(found.misses, misses);
            // The last instructions are still under way, or a load is.
            prop_assert!(found.time / 1000 <= time && time < found.time / 1000 + 500, "{} {}", found.time, time);
        }
    }

    /// Tasks that have a cache of their own have the misses that they have alone.
    #[test]
    fn in_the_best_case_tasks_miss_as_alone(lines in prop::collection::vec(100..4000_u64, 2..3)) {
        let tasks: Vec<Replay> = lines.iter().map(|lines| random(*lines, 10, ACCESSES)).collect();
        let settings = [("llc", "64K"), ("turn", "static:turn=100us"), ("partition", "alone")];
        let run = simulate_one(&tasks, &[&TIME[..], &settings].concat());
        for (task, found) in tasks.iter().zip(run.tasks()) {
            prop_assert_eq!(found.counts.misses, slow(task, found.counts.requests, false).0);
            prop_assert_eq!(found.counts.lost, 0.0);
        }
    }

    /// Private levels of a core with one task.
    #[test]
    fn private_levels_are_those_of_sim_llc(lines in 20..4000_u64) {
        let task = random(lines, 10, ACCESSES);
        let settings = [("llc", "64K"), ("l1", "4K:2"), ("turn", "off")];
        let run = simulate_one(std::slice::from_ref(&task), &[&TIME[..], &settings].concat());
        let found = &run.tasks()[0].counts;
        // An access in ten instructions.
        let (misses, _) = slow(&task, found.instructions / 10 + 1, true);
        prop_assert!(misses.abs_diff(found.misses) <= 1, "{} {}", misses, found.misses);
    }

    /// Two tasks on a core each ask in the order of time, and so take as long as programs that `sim
    /// llc` orders so.
    #[test]
    fn cores_ask_in_the_order_of_time(
        lines in prop::array::uniform2(500..8000_u64),
        steps in prop::array::uniform2(8..60_u64),
    ) {
        let tasks = |accesses: [u64; 2]| -> Vec<Replay> {
            let of = |core: usize| random(lines[core], steps[core], accesses[core]);
            (0..2).map(of).collect()
        };
        let settings = [&TIME[..], &[("llc", "64K"), ("cores", "2"), ("turn", "off")]].concat();
        let run = simulate_one(&tasks([1 << 17; 2]), &settings);
        let found = run.tasks().iter().map(|task| &task.counts);
        let found: Vec<_> = found.map(|counts| (counts.requests, counts.instructions as f64 / counts.time as f64)).collect();
        let outcome = without_turns(&tasks([found[0].0, found[1].0]), None, &[("l1", "off")]);
        for ((instructions, time), (_, pace)) in outcome.memories[0].cores.iter().zip(found) {
            let slow = *instructions as f64 / (1000 * time.0) as f64;
            prop_assert!((pace / slow - 1.0).abs() < 0.01, "{pace} {slow}");
        }
    }
}
