//! A suite's programs, each with each DRAM budget, run all ways and measured.

use std::path::Path;

use tempfile::TempDir;
use terrace_policy::prefetch;

use crate::compare::{Request, Results, Step, perform};
use crate::privilege;
use crate::program::{self, Exit};
use crate::run::{self, Dram};
use crate::signals::{Signals, Target};
use crate::suite::{Program, Suite};
use crate::tier;
use terrace_base::{Context, Result};

/// What to run, and how.
pub struct Bench {
    /// The suite.
    pub suite: Suite,
    /// Those of its programs that are run.
    pub programs: Vec<Program>,
    /// The DRAM budgets that each is run with.
    pub dram: Vec<Dram>,
    /// How often each way is run.
    pub repeat: usize,
    /// Where the rest goes; none is a swap file in the state directory.
    pub tier: Option<tier::Spec>,
    /// The predictors, a way each.
    pub prefetch: Vec<prefetch::Spec>,
}

/// A program with a DRAM budget, and what came of it.
pub struct Row<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its DRAM budget.
    pub dram: Dram,
    /// What was measured, as far as it got.
    pub results: Option<Results>,
    /// Why it failed, if it did.
    pub failure: Option<String>,
}

/// What people may want to know while a suite runs.
pub enum Event<'a> {
    /// A program is made ready.
    Preparing(&'a Program),
    /// A program is run with this DRAM budget.
    Beginning(&'a Program, Dram),
    /// It runs.
    Running(Step, run::Event<'a>),
    /// It is done, or failed.
    Done(Row<'a>),
}

/// Is told what goes on; an error of its own ends the suite.
pub type Observer<'a> = &'a mut (dyn FnMut(Event) -> Result<()> + Send);

impl Bench {
    /// Runs it all. Returns the signal by which somebody asked us to end before that, if so.
    ///
    /// # Errors
    /// A failure where the machine or the privileges do not suffice for any row; what concerns
    /// one row is a failure of that.
    pub fn run(&self, observe: Observer) -> Result<Option<i32>> {
        privilege::require()?;
        self.suite.require_packages(&self.programs)?;
        let logs = tempfile::tempdir();
        let logs = logs.or_fail(|| "cannot make a temporary directory".into())?;
        // A run receives signals by itself; between two of them nobody else would.
        let signals = Signals::receive()?;
        for program in &self.programs {
            let unprepared = self.prepare(program, &signals, &logs, observe)?;
            for &dram in &self.dram {
                if let Some(signal) = signals.asked_to_end() {
                    return Ok(Some(signal));
                }
                let row = match &unprepared {
                    Some(why) => Row {
                        program,
                        dram,
                        results: None,
                        failure: Some(why.clone()),
                    },
                    None => self.compare(program, dram, &logs, observe)?,
                };
                observe(Event::Done(row))?;
            }
        }
        Ok(signals.asked_to_end())
    }

    /// Returns what went wrong.
    fn prepare(
        &self,
        program: &Program,
        signals: &Signals,
        logs: &TempDir,
        observe: Observer,
    ) -> Result<Option<String>> {
        let log = logs.path().join(format!("{}.prepare", program.name));
        let Some(invocation) = self.suite.preparation(program, &log) else {
            return Ok(None);
        };
        observe(Event::Preparing(program))?;
        let ended = program::Program::start(&invocation, &[]).and_then(|preparation| {
            signals.aim(Target::Program(preparation.pid()));
            signals.pass_on();
            let ended = preparation.wait();
            signals.aim(Target::Nobody);
            ended
        });
        Ok(match ended {
            Ok(ended) if ended.exit.success() => None,
            Ok(ended) => Some(with_last_words(
                format!("its preparation {}", in_words(ended.exit)),
                &log,
            )),
            Err(error) => Some(error.to_string()),
        })
    }

    fn compare<'a>(
        &self,
        program: &'a Program,
        dram: Dram,
        logs: &TempDir,
        observe: Observer,
    ) -> Result<Row<'a>> {
        observe(Event::Beginning(program, dram))?;
        let log = logs.path().join(format!("{}.{dram}", program.name));
        let request = Request {
            command: self.suite.invocation(program, &log),
            dram,
            footprint: program.footprint,
            tier: self.tier.clone(),
            prefetch: self.prefetch.clone(),
            compare: true,
            repeat: self.repeat,
        };
        let results = perform(&request, &mut |step, event| {
            // What cannot be shown is no reason to stop a run.
            let _ = observe(Event::Running(step, event));
        });
        let (results, failure) = match results {
            Ok(results) => {
                let failure = failure(&results, self.repeat);
                (Some(results), failure)
            }
            Err(error) => (None, Some(error.to_string())),
        };
        Ok(Row {
            program,
            dram,
            results,
            failure: failure.map(|what| with_last_words(what, &log)),
        })
    }
}

/// What is wrong with results, if anything.
fn failure(results: &Results, repeat: usize) -> Option<String> {
    for runs in &results.runs {
        let failed = runs.outcomes.iter().find(|o| !o.exit.success());
        if let Some(outcome) = failed {
            let killed = match outcome.oom_kills {
                0 => "",
                _ => ", as it needed more than its budget and the tier",
            };
            let (way, end) = (runs.way.name(), in_words(outcome.exit));
            return Some(format!("{way}: the program {end}{killed}"));
        }
    }
    let whole = results.runs.iter().all(|r| r.outcomes.len() == repeat);
    match results.interrupted {
        Some(signal) if !whole => Some(format!("interrupted by signal {signal}")),
        _ => results.left_behind.as_ref().map(ToString::to_string),
    }
}

fn in_words(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("ended with code {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
    }
}

/// With the last line that the program wrote: it is likely to say why.
fn with_last_words(what: String, log: &Path) -> String {
    let log = std::fs::read(log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    match log.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => format!("{what}; its last line: {}", line.trim()),
        None => what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_s_last_words() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        assert_eq!(with_last_words("it failed".into(), &log), "it failed");
        std::fs::write(&log, "begin\n  no memory \n\n").unwrap();
        assert_eq!(
            with_last_words("it failed".into(), &log),
            "it failed; its last line: no memory"
        );
    }

    #[test]
    fn ends_in_words() {
        assert_eq!(in_words(Exit::Code(3)), "ended with code 3");
        assert_eq!(in_words(Exit::Signal(9)), "was ended by signal 9");
    }
}
