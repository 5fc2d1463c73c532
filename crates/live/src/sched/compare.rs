//! A mix under the kernel alone and under policies, interleaved.

use terrace_base::{Error, Exit, Result};
use terrace_policy::sched::{Machine, Spec};

use super::counters;
use super::figures::Outcome;
use super::run::{Mix, Session, Settings, Told};

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// What takes turns.
    pub mix: Mix,
    /// Policies that run the mix, one after the other; not empty.
    pub policies: Vec<Spec>,
    /// Repetitions of each.
    pub repeat: usize,
    /// How it takes turns.
    pub settings: Settings,
}

/// Runs under one policy.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The policy with its settings.
    pub policy: Spec,
    /// Measurements in the order of the runs.
    pub outcomes: Vec<Outcome>,
}

/// Results of a request.
#[derive(Clone, Debug)]
pub struct Results {
    /// Results by policy.
    pub runs: Vec<Runs>,
    /// Signal that ended the request before all runs were done.
    pub interrupted: Option<i32>,
    /// Reason why a change could not be undone, if any.
    pub left_behind: Option<Error>,
}

impl Results {
    /// Returns how the first program ended that failed, or else the signal that ended the request.
    pub fn exit(&self, repeat: usize) -> Exit {
        let outcomes = self.runs.iter().flat_map(|runs| &runs.outcomes);
        let programs = outcomes.flat_map(|outcome| &outcome.programs);
        let mut exits = programs.filter_map(|program| program.exit);
        let failed = exits.find(|exit| !exit.success());
        let unfinished = self.runs.iter().any(|runs| runs.outcomes.len() < repeat);
        match (failed, self.interrupted) {
            (Some(exit), _) => exit,
            (None, Some(signal)) if unfinished => Exit::Signal(signal),
            _ => Exit::Code(0),
        }
    }
}

/// Progress of a request.
#[derive(Clone, Debug)]
pub struct Step {
    /// Policy of the present run.
    pub policy: Spec,
    /// Number of the present run, from 1.
    pub run: usize,
    /// Number of runs.
    pub of: usize,
}

/// Carries out a request.
///
/// # Errors
/// A usage error if the request cannot be carried out; otherwise a failure.
pub fn perform(request: &Request, observe: &mut dyn FnMut(&Step, Told)) -> Result<Results> {
    if let Mix::Programs(invocations) = &request.mix {
        invocations.iter().try_for_each(|it| it.find().map(drop))?;
    }
    let mut session = Session::open()?;
    let mut runs: Vec<Runs> = request.policies.iter().cloned().map(Runs::of).collect();
    let of = runs.len() * request.repeat;
    for run in 0..of {
        if session.asked_to_end().is_some() {
            break;
        }
        let (index, step) = (run % runs.len(), run + 1);
        let step = Step {
            policy: runs[index].policy.clone(),
            run: step,
            of,
        };
        // Told once it runs: what is wrong with the request is said alone.
        let mut notice = (run == 0).then(|| without_counters(&request.policies));
        let outcome = session.run(&request.mix, &step.policy, &request.settings, &mut |told| {
            if let Some(notice) = notice.take().flatten() {
                observe(&step, Told::Notice(&notice));
            }
            observe(&step, told);
        })?;
        runs[index].outcomes.push(outcome);
    }
    let interrupted = session.asked_to_end();
    Ok(Results {
        left_behind: session.close().err(),
        runs,
        interrupted,
    })
}

/// Returns a sentence on what policies do where misses are not counted.
fn without_counters(policies: &[Spec]) -> Option<String> {
    let why = counters::missing()?;
    let made = |spec: &Spec| spec.policy(&Machine::default()).ok().flatten();
    let counts = |spec: &Spec| made(spec).is_some_and(|policy| policy.wants_misses());
    Some(match policies.iter().find(|spec| counts(spec)) {
        Some(spec) => {
            format!("misses are not counted ({why}): turns of {spec} have a fixed length")
        }
        None => format!("misses are not counted: {why}"),
    })
}

impl Runs {
    fn of(policy: Spec) -> Self {
        let outcomes = Vec::new();
        Self { policy, outcomes }
    }
}
