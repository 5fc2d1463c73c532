//! A pass whose requests and traffic are written as trace files.

use std::path::Path;

use terrace_base::Result;
use terrace_trace::{Sink, create};

use super::mix::Mix;
use super::origin;
use super::outcome::Pass;
use super::pass::{Sinks, run};
use super::settings::LlcMachine;

/// The trace files that a pass writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outputs<'a> {
    /// The file for the requests of the private levels to the last.
    pub requests: Option<&'a Path>,
    /// The file for the requests of the last level to memory, with [`LlcMachine::traffic`].
    pub traffic: Option<&'a Path>,
}

/// Same as [`run`], with requests and traffic written to files that say which hierarchy made them.
///
/// # Errors
/// Errors of [`run`]; a usage error where the name of a file tells no format.
pub fn simulate(
    settings: &LlcMachine,
    mix: Mix,
    outputs: Outputs,
    progress: impl FnMut(u64),
) -> Result<Pass> {
    let about = origin::about(settings, mix.cores());
    let file = |path: Option<&Path>| path.map(|path| create(path, &about)).transpose();
    let (mut requests, mut traffic) = (file(outputs.requests)?, file(outputs.traffic)?);
    let sinks = Sinks {
        requests: requests.as_deref_mut().map(|sink| sink as &mut dyn Sink),
        traffic: traffic.as_deref_mut().map(|sink| sink as &mut dyn Sink),
    };
    let pass = run(settings, mix, sinks, progress)?;
    for sink in [requests, traffic].into_iter().flatten() {
        sink.finish()?;
    }
    Ok(pass)
}
