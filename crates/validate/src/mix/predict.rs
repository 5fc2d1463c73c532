//! The simulated half: each program alone, and all of them under each policy.

use terrace_base::{Error, Nanos, Result};
use terrace_policy::sched::Spec;
use terrace_sim::llc::Open;
use terrace_sim::mix::{MixMachine, Run, Trace, run};
use terrace_trace::{Columns, Selection, ahead, open};

use super::finish::finish;
use crate::record::Unnamed;

/// Simulated time before figures are taken, and of which they are taken: several rounds of long turns.
const TIMES: [Nanos; 2] = [Nanos(300_000_000), Nanos(600_000_000)];
/// The same of a program alone, which only has to fill the caches.
const ALONE: [Nanos; 2] = [Nanos(100_000_000), Nanos(100_000_000)];

/// A program with what the simulator is given of it.
pub struct Task<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its trace, and how many rows of that are its beginning.
    pub trace: (&'a Unnamed, u64),
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

/// Predicts all programs under each policy, the first of which leaves turns to the scheduler; `machine` returns the
/// machine with a policy.
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
        open: Box::new(move || {
            let (trace, skip) = task.trace;
            let selection = Selection {
                skip,
                ..Selection::default()
            };
            let opened: Open = Box::new(move || {
                let whole = open(&trace.path(), Columns::ALL)?;
                Ok(ahead(selection.of(whole)))
            });
            opened
        }),
    };
    tasks.iter().map(trace).collect()
}

/// Returns the instructions a cycle of a task.
fn pace(run: &Run, task: usize, name: &str) -> Result<f64> {
    run.tasks()[task]
        .pace()
        .ok_or_else(|| Error::failure(format!("{name} had no turn in the time that was simulated")))
}

/// Returns the predictions of one policy: a program needs so many times its CPU time alone as it is slower there.
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
