//! Simulation of the same tasks on several machines.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rayon::prelude::*;
use terrace_base::{Error, Result, lock};
use terrace_trace::{Columns, Reading};

use super::outcome::{Run, Simulated};
use super::settings::MixMachine;
use super::simulation::Simulation;
use crate::llc::origin;
use crate::llc::program::{Program, file, require_trace};
use crate::llc::{LlcMachine, Open};

/// A trace, which is opened for each machine that is simulated.
pub struct Trace<'a> {
    /// Its name.
    pub name: String,
    /// Opens it at its beginning.
    pub open: Box<dyn Fn() -> Open<'a> + Sync + 'a>,
}

/// Returns trace files, which are opened with these columns.
///
/// # Errors
/// A usage error where a file is a program and no trace.
pub fn files(
    paths: &[PathBuf],
    reading: &Reading,
    columns: Columns,
) -> Result<Vec<Trace<'static>>> {
    paths.iter().try_for_each(|path| require_trace(path))?;
    let trace = |path: &PathBuf| Trace {
        name: name(path),
        open: {
            let (path, reading) = (path.clone(), reading.clone());
            Box::new(move || file(path.clone(), reading.clone(), columns))
        },
    };
    Ok(paths.iter().map(trace).collect())
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

/// Simulates `tasks` tasks on each machine, several machines at the same time; the tasks are the
/// traces, the first of them again if there are fewer. Each run through a trace has at most `limit`
/// accesses. `progress` is called with the simulated time of all machines, in nanoseconds.
///
/// # Errors
/// Errors of the traces; a usage error where a machine cannot be simulated with them.
pub fn run(
    machines: Vec<MixMachine>,
    traces: &[Trace],
    tasks: usize,
    limit: Option<u64>,
    progress: impl Fn(u64) + Sync,
) -> Result<Simulated> {
    let done = Mutex::new(vec![0; machines.len()]);
    let one = |(at, machine): (usize, MixMachine)| {
        machine.check(tasks)?;
        let open = |task: usize| {
            let trace = &traces[task % traces.len()];
            Program::new(trace.name.clone(), (trace.open)(), limit)
        };
        let programs = (0..tasks).map(open).collect::<Result<Vec<_>>>()?;
        let outcome = simulate(&machine, programs, |picos| {
            let mut done = lock(&done);
            done[at] = picos / 1000;
            progress(done.iter().sum());
        })?;
        Ok(Run { machine, outcome })
    };
    let machines: Vec<(usize, MixMachine)> = machines.into_iter().enumerate().collect();
    let runs = machines.into_par_iter().map(one).collect::<Result<_>>()?;
    Ok(Simulated { runs })
}

/// Simulates one machine; `progress` is called now and then.
fn simulate(
    machine: &MixMachine,
    mut programs: Vec<Program>,
    progress: impl Fn(u64),
) -> Result<super::Outcome> {
    let hierarchy = LlcMachine {
        line: machine.line,
        private: machine.private,
        ..LlcMachine::default()
    };
    let rows = origin::rows_of(&programs, &hierarchy)?;
    require_ips(machine, &mut programs)?;
    let mut simulation = Simulation::new(machine, programs, rows)?;
    let mut steps = 0_u32;
    simulation.run(|now| {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(1 << 12) {
            progress(now);
        }
    })?;
    Ok(simulation.outcome())
}

/// Checks that traces have instruction addresses, if the policy of the last level learns by them,
/// and that it needs not know requests whose order depends on its own choices.
fn require_ips(machine: &MixMachine, programs: &mut [Program]) -> Result<()> {
    let policy = &machine.llc.policy;
    if policy.entry().make.knows_future() {
        return Err(Error::usage(format!(
            "{policy} knows all requests beforehand, and turns are taken by what it chooses; `terrace sim llc` simulates it"
        )));
    }
    if !policy.entry().make.needs_ip() {
        return Ok(());
    }
    for program in programs {
        if !program.has_ips()? {
            return Err(Error::usage(format!(
                "{policy} learns by the instructions that ask, and {} does not say which they were",
                program.name()
            )));
        }
    }
    Ok(())
}
