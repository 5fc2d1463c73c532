//! What stands for the runs of a way.

use terrace_live::measure::compare::Runs;
use terrace_live::run::Outcome;

/// Returns the names of predictors, or `off` if there is none.
pub(crate) fn names(predictors: &[String]) -> String {
    match predictors {
        [] => "off".to_owned(),
        _ => predictors.join(", "),
    }
}

/// The run whose wall time is the median (of an even number, the lower of the middle two): where
/// figures have to belong together, as in a life story, they are of this run. Of a way that failed
/// it is the first run that did.
pub(crate) fn typical(runs: &Runs) -> &Outcome {
    if let Some(failed) = runs.failure() {
        return failed;
    }
    let mut order: Vec<&Outcome> = runs.outcomes.iter().collect();
    order.sort_by_key(|o| o.wall);
    order[(order.len() - 1) / 2]
}
