//! The simulated half: each program alone, and all of them under each policy.

use std::path::PathBuf;

use terrace_base::{Error, Nanos, Result};
use terrace_policy::sched::Spec;
use terrace_sim::llc::Open;
use terrace_sim::mix::{MixMachine, Run, Trace, run};
use terrace_trace::{Columns, Selection, Source, ahead, open};

use super::finish::finish;

/// Simulated time of the warm-up and of the measurement: several rounds of long turns.
const TIMES: [Nanos; 2] = [Nanos(300_000_000), Nanos(600_000_000)];
/// The same of a program alone, which only has to fill the caches.
const ALONE: [Nanos; 2] = [Nanos(100_000_000), Nanos(100_000_000)];

/// A program with what the simulator is given of it.
pub struct Task<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its trace.
    pub trace: PathBuf,
    /// How many rows of that are its beginning, and are left out.
    pub beginning: u64,
    /// Its CPU time alone in seconds, measured.
    pub alone: f64,
}

/// The prediction for a program under a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// Seconds until it ends, started together with the others.
    pub wall: f64,
    /// Turns until then.
    pub turns: f64,
    /// Mean length of its turns in seconds.
    pub turn: f64,
}

/// Predicts all programs under each policy; the first leaves turns to the scheduler;
/// `machine` returns the machine with a policy.
///
/// # Errors
/// A failure if a trace cannot be read, or holds too little.
pub fn predict(
    tasks: &[Task],
    policies: &[Spec],
    machine: impl Fn(&Spec) -> Result<MixMachine>,
) -> Result<Vec<Vec<Predicted>>> {
    let paces = tasks.iter().map(|task| alone(task, &policies[0], &machine));
    let paces = paces.collect::<Result<Vec<f64>>>()?;
    let machines = policies.iter().map(|policy| timed(&machine, policy, TIMES));
    let simulated = run(
        machines.collect::<Result<_>>()?,
        &traces(tasks),
        tasks.len(),
        None,
        |_| {},
    )?;
    let of_policy = |run: &Run| of_run(tasks, &paces, run);
    simulated.runs.iter().map(of_policy).collect()
}

/// Returns the instructions a cycle of a program alone on one CPU.
fn alone(task: &Task, off: &Spec, machine: &impl Fn(&Spec) -> Result<MixMachine>) -> Result<f64> {
    let machine = MixMachine {
        cores: 1,
        ..timed(machine, off, ALONE)?
    };
    let traces = traces(std::slice::from_ref(task));
    let simulated = run(vec![machine], &traces, 1, None, |_| {})?;
    pace(&simulated.runs[0], 0, task.name)
}

fn timed(
    machine: &impl Fn(&Spec) -> Result<MixMachine>,
    policy: &Spec,
    [warmup, time]: [Nanos; 2],
) -> Result<MixMachine> {
    Ok(MixMachine {
        warmup,
        time,
        ..machine(policy)?
    })
}

fn traces<'a>(tasks: &'a [Task<'a>]) -> Vec<Trace<'a>> {
    let trace = |task: &'a Task<'a>| Trace {
        name: task.name.to_owned(),
        open: Box::new(|| Box::new(|| opened(task)) as Open),
    };
    tasks.iter().map(trace).collect()
}

/// Opens the part of a trace that is simulated.
fn opened(task: &Task) -> Result<Box<dyn Source>> {
    let selection = Selection {
        skip: task.beginning,
        ..Selection::default()
    };
    let whole = open(&task.trace, Columns::ALL)?;
    Ok(ahead(selection.of(whole)))
}

/// Returns the instructions a cycle of a task.
fn pace(run: &Run, task: usize, name: &str) -> Result<f64> {
    run.tasks()[task]
        .pace()
        .ok_or_else(|| Error::failure(format!("{name} had no turn in the time that was simulated")))
}

/// Returns the predictions of one policy: a program needs this multiple of its CPU time alone as it
/// is slower there.
fn of_run(tasks: &[Task], paces: &[f64], run: &Run) -> Result<Vec<Predicted>> {
    let needs = tasks.iter().zip(paces).enumerate();
    let needs =
        needs.map(|(index, (task, alone))| Ok(task.alone * alone / pace(run, index, task.name)?));
    let needs = needs.collect::<Result<Vec<f64>>>()?;
    let ends = finish(&needs, run.machine.cores);
    let outcomes = run.tasks().iter().zip(needs.iter().zip(ends));
    let predicted = outcomes.map(|(outcome, (need, wall))| {
        let turn = outcome.turn().unwrap_or(run.machine.time).seconds();
        Predicted {
            wall,
            turns: need / turn,
            turn,
        }
    });
    Ok(predicted.collect())
}

#[cfg(test)]
mod tests {
    use terrace_live::sched::cache::Cache;
    use terrace_trace::{Access, Block, create};

    use super::super::machine::machine;
    use super::*;

    /// Writes a trace that walks through this number of lines of its own, again and again, 4000
    /// instructions a line.
    fn walk(folder: &tempfile::TempDir, number: u64, lines: u64) -> PathBuf {
        let path = folder.path().join(format!("{number}-{lines}.parquet"));
        let mut sink = create(&path, &[]).unwrap();
        let mut block = Block::default();
        for row in 0..100 * lines {
            block.push(Access {
                instruction: 4000 * row,
                address: (number << 32) + 64 * (row * 7919 % lines),
                ip: 1,
                process: 0,
                thread: 0,
                size: 8,
                write: false,
            });
        }
        sink.write(&block).unwrap();
        sink.finish().unwrap();
        path
    }

    /// Predicts two programs of 1 s of CPU time each, on one CPU with a last level of 4096 lines
    /// alone.
    fn two(lines: u64) -> Vec<Vec<Predicted>> {
        let folder = tempfile::tempdir().unwrap();
        let task = |number| Task {
            name: "walk",
            trace: walk(&folder, number, lines),
            beginning: lines,
            alone: 1.0,
        };
        let cache = Cache {
            stated_bytes: None,
            effective_bytes: 4096 * 64,
            hit_ns: 10.0,
            miss_ns: 210.0,
            refill_ms: 1.0,
            accesses: Vec::new(),
        };
        let policies = ["off", "static:turn=40ms"].map(|text| Spec::parse(text).unwrap());
        let with = |policy: &Spec| {
            let made = machine(&cache, 1, policy.clone(), Nanos(4_000_000))?;
            Ok(MixMachine {
                private: [None, None],
                ..made
            })
        };
        predict(&[task(1), task(2)], &policies, with).unwrap()
    }

    #[test]
    fn programs_that_fit_together_only_share_the_cpu() {
        for predicted in two(1000) {
            for of in predicted {
                assert!((of.wall - 2.0).abs() < 0.02, "{of:?}");
                assert!((of.turns * of.turn - 1.0).abs() < 0.02, "{of:?}");
            }
        }
    }

    #[test]
    fn programs_that_throw_each_other_out_gain_by_longer_turns() {
        let [off, turns] = two(3000).try_into().unwrap();
        assert!(off[0].wall > 2.1, "{off:?}");
        assert!(turns[0].wall > 2.0, "{turns:?}");
        assert!(turns[0].wall < 0.95 * off[0].wall, "{off:?} {turns:?}");
        assert!(turns[0].turns < 0.2 * off[0].turns);
    }
}
