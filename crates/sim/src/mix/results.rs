//! Results of tasks that take turns: their names, units and meanings, declared once.
//!
//! To add one: an entry here. All times are virtual: a simple model predicts them. Figures exclude
//! the warm-up.

use terrace_base::schema::{Field, Value, fields};

use super::options::{effective, machine};
use super::outcome::{Run, Simulated, TaskOutcome};

/// A machine and what it is compared with.
#[derive(Clone, Copy)]
pub struct Compared<'a> {
    /// The machine.
    pub run: &'a Run,
    /// The first machine that differs only in turns and partition.
    pub base: &'a Run,
}

/// A task on a machine that is compared.
#[derive(Clone, Copy)]
struct Of<'a> {
    run: &'a Run,
    task: &'a TaskOutcome,
    slowdown: Option<f64>,
}

/// Returns the fields of a simulation in the document `terrace.sim.mix/1`, in the order of JSON.
pub fn simulation() -> Vec<Field<Simulated>> {
    let settings = effective()
        .into_iter()
        .map(|field| field.under("settings", "effective settings"));
    let results = fields! { Simulated;
        /// results of each machine
        "runs": [run()] => |one| compared(one);
    };
    settings.chain(results).collect()
}

/// Returns the machines with those that they are compared with.
pub fn compared(simulated: &Simulated) -> impl Iterator<Item = Compared<'_>> {
    simulated.runs.iter().map(|run| Compared {
        run,
        base: simulated.base(run),
    })
}

/// Returns the fields of a machine.
pub fn run<'a>() -> Vec<Field<Compared<'a>>> {
    let machine = machine().into_iter();
    let machine = machine.map(|field| field.of(|compared: &Compared<'a>| compared.run));
    let results = fields! { Compared<'a>;
        /// geometric mean over the tasks of the run time, as a multiple of that on the first
        /// machine that differs only in turns and partition: the time of an instruction here,
        /// divided by its time there; 0.9 is a run time of 90 %
        "slowdown" Ratio |of| of.run.slowdown(of.base);
        /// misses of the same instructions, as a multiple of those on that machine
        "misses_against" Ratio |of| of.run.misses_against(of.base);
        /// loads and stores that missed in the last level
        "misses" None |of| of.run.misses();
        /// misses per 1000 instructions; null where a trace does not count instructions
        "mpki" None |of| of.run.mpki();
        /// mean turn
        "turn_ns" Nanos |of| of.run.turn();
        /// Jain's index of the tasks' shares of their cores, 1 where all are equal
        "fairness" Ratio |of| of.run.fairness();
        /// lines that the last level held at the end
        "filled_lines" None |of| of.run.outcome.filled;
        /// results of each task
        "tasks": [task()] => |of| tasks(*of);
    };
    machine.chain(results).collect()
}

fn tasks(compared: Compared<'_>) -> Vec<Of<'_>> {
    let Compared { run, base } = compared;
    let tasks = run.tasks().iter().zip(run.slowdowns(base));
    let of = |(task, slowdown)| Of {
        run,
        task,
        slowdown,
    };
    tasks.map(of).collect()
}

/// Returns the fields of a task.
fn task<'a>() -> Vec<Field<Of<'a>>> {
    fields! { Of<'a>;
        /// trace as it was named
        "trace" None |of| of.task.name.clone();
        /// core
        "core" None |of| of.task.core;
        /// run time as a multiple of that on the machine of comparison
        "slowdown" Ratio |of| of.slowdown;
        /// time on the core
        "time_ns" Nanos |of| of.task.time();
        /// share of the time that the core gave to tasks
        "share" Ratio |of| of.run.share(of.task);
        /// instructions, estimated at three per access where the trace does not count them
        "instructions" None |of| of.task.counts.instructions;
        /// instructions per cycle; null where the trace does not count instructions
        "ipc" None |of| of.task.ipc();
        /// requests to the last level
        "requests" None |of| of.task.counts.requests;
        /// loads and stores that missed in the last level
        "misses" None |of| of.task.counts.misses;
        /// misses per 1000 instructions; null where the trace does not count instructions
        "mpki" None |of| of.task.mpki();
        /// turns that have ended
        "turns" None |of| of.task.counts.turns;
        /// mean turn
        "turn_ns" Nanos |of| of.task.turn();
        /// longest time between two turns
        "longest_wait_ns" Nanos |of| terrace_base::Nanos(of.task.counts.longest_wait / 1000);
        /// lines that came into the last level while the task was away, as a share of its lines, on
        /// average (Fedorov 2016, figure 3.2); null where it was never away
        "replaced" Ratio |of| of.task.replaced();
        /// share of the task's lines in the last level that were evicted while it was away, on
        /// average
        "lost" Ratio |of| of.task.lost();
        /// misses per millisecond, by milliseconds since a turn began (Fedorov 2016, figure 3.3);
        /// null where no turn was so long; the last entry, the hundredth, has all that came later
        "misses_per_ms" None |of| Value::list(&Vec::from_iter(of.task.curve()));
        /// turns of 15 ms and more by how far misses fell, the misses from 12 to 15 ms in tenths of
        /// those of the first 3 ms (Fedorov 2016, figure 3.11); the last entry has those that did
        /// not fall
        "falls" None |of| Value::list(&of.task.counts.falls);
    }
}
