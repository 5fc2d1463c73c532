//! Where nothing is shared, the simulation of a last-level cache without turns has the same misses and time.

use proptest::prelude::*;
use terrace_base::Bytes;
use terrace_device::Catalogue;
use terrace_policy::llc::Spec;
use terrace_sim::llc::{self, Grid, Mix, Sinks};
use terrace_sim::setting::Given;

use crate::tasks::{Replay, random, simulate_one};

const TIME: [(&str, &str); 3] = [("warmup", "0"), ("time", "300us"), ("pages", "virtual")];

/// Returns the misses, and the time in nanoseconds, of the first accesses of a trace by `sim llc`.
fn slow(task: &Replay, accesses: u64, private: bool) -> (u64, u64) {
    let off = if private { "4K:2" } else { "off" };
    let values = [("l1", off), ("l2", "off"), ("llc", "64K"), ("ways", "16")];
    let grid = Grid::new(&Given::parse(&values).unwrap(), false).unwrap();
    let traces = vec![("t".to_owned(), task.open())];
    let mix = Mix::new(traces, None, Some(accesses)).unwrap();
    let machine = grid.settings(&Catalogue::builtin(), mix.extent()).unwrap();
    assert_eq!(machine.llcs[0].policy, Spec::parse("lru").unwrap());
    assert_eq!(machine.llcs[0].size.bytes, Bytes(64 << 10));
    let pass = llc::run(&machine, mix, Sinks::default(), |_| ()).unwrap();
    let outcome = &pass.outcomes[0];
    (outcome.counts.misses(), outcome.memories[0].elapsed.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A single task, whatever its turns.
    #[test]
    fn a_single_task_is_a_program_alone(lines in 100..4000_u64, step in 10..40_u64) {
        let task = random(lines, step, 1 << 17);
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
    fn in_the_best_case_tasks_miss_as_alone(lines in prop::collection::vec(100..4000_u64, 2..5)) {
        let tasks: Vec<Replay> = lines.iter().map(|lines| random(*lines, 10, 1 << 17)).collect();
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
        let task = random(lines, 10, 1 << 17);
        let settings = [("llc", "64K"), ("l1", "4K:2"), ("turn", "off")];
        let run = simulate_one(std::slice::from_ref(&task), &[&TIME[..], &settings].concat());
        let found = &run.tasks()[0].counts;
        // An access in ten instructions.
        let (misses, _) = slow(&task, found.instructions / 10 + 1, true);
        prop_assert!(misses.abs_diff(found.misses) <= 1, "{} {}", misses, found.misses);
    }
}
