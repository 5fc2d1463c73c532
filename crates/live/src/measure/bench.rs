//! A suite's programs, each with each DRAM budget, run all ways and measured.

use std::path::Path;

use tempfile::TempDir;
use terrace_policy::{eviction, prefetch};

use crate::measure::compare::{Results, Step, perform};
use crate::measure::limit::require;
use crate::measure::request::Request;
use crate::measure::suite::{Program, Suite};
use crate::program::{self, Invocation};
use crate::run::{self, Dram, Measures};
use crate::system::privilege;
use crate::tier::{self, Spec};
use terrace_base::{Context, Result, Signals, Target, User};

/// A request: programs of a suite, and how to run them.
pub struct Bench {
    /// The suite.
    pub suite: Suite,
    /// Programs of the suite that are run.
    pub programs: Vec<Program>,
    /// DRAM budgets of each program.
    pub dram: Vec<Dram>,
    /// Repetitions of each way.
    pub repeat: usize,
    /// Tier; `None` is a swap file in the state directory.
    pub tier: tier::Choice,
    /// Predictors, one way each.
    pub prefetch: Vec<prefetch::Spec>,
    /// Eviction policies, each with every predictor; not empty.
    pub eviction: Vec<eviction::Spec>,
    /// User that the programs run as; `None` is the user of this process.
    pub user: Option<User>,
    /// Whether the programs see the limits of their groups.
    pub sees_limit: bool,
}

/// Result of a program with one DRAM budget.
pub struct Row<'a> {
    /// The program.
    pub program: &'a Program,
    /// DRAM budget.
    pub dram: Dram,
    /// Measurements, as far as they got.
    pub results: Option<Results>,
    /// Reason of a failure, if any.
    pub failure: Option<String>,
}

/// Events of a suite.
pub enum Event<'a> {
    /// A program is being prepared.
    Preparing(&'a Program),
    /// A program starts with this DRAM budget.
    Beginning(&'a Program, Dram),
    /// Progress of the runs of a program.
    Running(Step, run::Event<'a>),
    /// A program is done, or failed.
    Done(Box<Row<'a>>),
}

/// Progress callback; an error that it returns ends the suite.
pub type Observer<'a> = &'a mut (dyn FnMut(Event) -> Result<()> + Send);

impl Bench {
    /// Runs the whole request. Returns the signal that ended it early, if one came.
    ///
    /// # Errors
    /// A failure if machine or privileges do not suffice for any row; a failure of one row is part
    /// of that row.
    pub fn run(&self, observe: Observer) -> Result<Option<i32>> {
        self.tier.spec.as_ref().map_or(Ok(()), Spec::require_swap)?;
        self.dram.iter().try_for_each(|dram| require(*dram))?;
        privilege::require()?;
        self.suite.require_packages(&self.programs)?;
        let logs = tempfile::tempdir();
        let logs = logs.or_fail(|| "cannot make a temporary directory".into())?;
        // Each run receives signals; this receives those between two runs.
        let signals = Signals::receive()?;
        for program in &self.programs {
            let unprepared = self.prepare(program, &signals, &logs, observe)?;
            for &dram in &self.dram {
                if let Some(signal) = signals.asked_to_end() {
                    return Ok(Some(signal));
                }
                signals.aim(Target::Elsewhere);
                let compared = match &unprepared {
                    Some(why) => Ok((None, Some(why.clone()))),
                    None => self.compare(program, dram, &logs, observe),
                };
                signals.aim(Target::Nobody);
                let (results, failure) = compared?;
                observe(Event::Done(Box::new(Row {
                    program,
                    dram,
                    results,
                    failure,
                })))?;
            }
        }
        Ok(signals.asked_to_end())
    }

    /// Prepares a program; returns the reason why it cannot be run, if any.
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
        let invocation = self.as_asked(invocation);
        observe(Event::Preparing(program))?;
        let ended = program::Program::start(&invocation, &[], signals).and_then(|preparation| {
            signals.aim(Target::program(preparation.pid()));
            signals.pass_on();
            let ended = preparation.wait();
            signals.aim(Target::Nobody);
            ended
        });
        Ok(match ended {
            Ok(ended) if ended.exit.success() => None,
            Ok(ended) => Some(with_last_words(
                format!("its preparation {}", ended.exit),
                &log,
            )),
            Err(error) => Some(error.to_string()),
        })
    }

    fn as_asked(&self, invocation: Invocation) -> Invocation {
        Invocation {
            user: self.user.clone(),
            sees_limit: self.sees_limit,
            ..invocation
        }
    }

    /// Returns the measurements, as far as they got, and the reason of a failure, if any.
    fn compare(
        &self,
        program: &Program,
        dram: Dram,
        logs: &TempDir,
        observe: Observer,
    ) -> Result<(Option<Results>, Option<String>)> {
        observe(Event::Beginning(program, dram))?;
        let log = logs.path().join(format!("{}.{dram}", program.name));
        let request = Request {
            command: self.as_asked(self.suite.invocation(program, &log)),
            dram,
            footprint: program.footprint,
            tier: self.tier.clone(),
            zswap: None,
            prefetch: self.prefetch.clone(),
            eviction: self.eviction.clone(),
            migration: None,
            placement: None,
            lesson: None,
            writes: false,
            measure: None,
            measures: Measures::default(),
            compare: true,
            repeat: self.repeat,
        };
        let results = perform(&request, &mut |step, event| {
            // A status that cannot be shown is no reason to stop a run.
            let _ = observe(Event::Running(step, event));
        });
        let (results, failure) = match results {
            Ok(results) => {
                let failure = failure(&results, self.repeat);
                (Some(results), failure)
            }
            Err(error) => (None, Some(error.to_string())),
        };
        Ok((results, failure.map(|what| with_last_words(what, &log))))
    }
}

/// Returns what is wrong with results, if anything.
fn failure(results: &Results, repeat: usize) -> Option<String> {
    for runs in &results.runs {
        let failed = runs.outcomes.iter().find(|o| !o.exit.success());
        if let Some(outcome) = failed {
            let killed = match outcome.oom_kills {
                0 => "",
                _ => ", as it needed more than its budget and the tier",
            };
            let (way, end) = (runs.way.name(), outcome.exit);
            return Some(format!("{way}: the program {end}{killed}"));
        }
    }
    let whole = results.runs.iter().all(|r| r.outcomes.len() == repeat);
    match results.interrupted {
        Some(signal) if !whole => Some(format!("interrupted by signal {signal}")),
        _ => results.left_behind.as_ref().map(ToString::to_string),
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
}
