//! The live half: each program alone, and all of them under the kernel alone and under policies.

use std::time::Duration;

use terrace_base::{Error, Result, median};
use terrace_live::program::Invocation;
use terrace_live::sched::compare::{Request, Results, Runs, perform};
use terrace_live::sched::run::{Mix, Settings};
use terrace_live::sched::{Outcome, TurnFigures};
use terrace_policy::sched::Spec;

/// Runs programs once under each policy.
///
/// # Errors
/// A failure of a program or the machine, or that a signal came.
pub fn measure(
    programs: &[Invocation],
    policies: &[Spec],
    settings: &Settings,
    told: &mut dyn FnMut(&str),
) -> Result<Results> {
    let request = Request {
        mix: Mix::Programs(programs.to_vec()),
        policies: policies.to_vec(),
        repeat: 1,
        settings: settings.clone(),
    };
    let mut said = None;
    let results = perform(&request, &mut |step, _| {
        if said.replace(step.run) != Some(step.run) {
            told(&step.policy.to_string());
        }
    })?;
    if let Some(signal) = results.interrupted {
        return Err(Error::failure(format!(
            "ended by signal {signal} before all was measured"
        )));
    }
    if let Some(error) = results.left_behind {
        return Err(error);
    }
    match results.exit(1).success() {
        true => Ok(results),
        false => Err(Error::failure(
            "a program failed; only what succeeds can be compared",
        )),
    }
}

/// Adds later runs of the same programs under the same policies.
pub fn extend(all: &mut Vec<Runs>, later: Vec<Runs>) {
    match all.is_empty() {
        true => *all = later,
        false => all
            .iter_mut()
            .zip(later)
            .for_each(|(runs, later)| runs.outcomes.extend(later.outcomes)),
    }
}

/// Returns the median CPU time of the first program, in seconds.
pub fn cpu_time(outcomes: &[Outcome]) -> f64 {
    let first = outcomes.iter().filter_map(|it| it.programs.first());
    median(first.map(|it| it.cpu.as_secs_f64()))
}

/// Returns the mean of the turns that came out of all programs; `None` if none were seen.
pub fn mean_turn(outcomes: &[Outcome]) -> Option<Duration> {
    let programs = outcomes.iter().flat_map(|it| &it.programs);
    let turns = programs.filter_map(|it| it.turns);
    let (count, time) = turns.fold(
        (0, 0.0),
        |(count, time),
         TurnFigures {
             count: own, mean, ..
         }| { (count + own, time + own as f64 * mean.as_secs_f64()) },
    );
    (count > 0).then(|| Duration::from_secs_f64(time / count as f64))
}
