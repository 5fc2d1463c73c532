//! A pass whose requests and traffic are written as trace files.

use std::path::{Path, PathBuf};

use terrace_base::Result;
use terrace_trace::lost::Loss;
use terrace_trace::{Sink, create};

use super::mix::Mix;
use super::origin;
use super::outcome::Pass;
use super::pass::{Sinks, run};
use super::settings::LlcMachine;

/// The trace files that a pass writes.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The file for the requests of the private levels to the last.
    pub requests: Option<PathBuf>,
    /// The file for the requests of the last level to memory, with [`LlcMachine::traffic`].
    pub traffic: Option<PathBuf>,
}

/// What a trace file does not say, because its format has no room for it.
#[derive(Clone, Debug)]
pub struct Unkept {
    /// The file.
    pub path: PathBuf,
    /// What it does not say.
    pub lost: Vec<Loss>,
}

/// Same as [`run`], with requests and traffic written to files that say which hierarchy made them.
/// Returns besides what these files do not say.
///
/// # Errors
/// Errors of [`run`]; a usage error where the name of a file tells no format.
pub fn simulate(
    settings: &LlcMachine,
    mix: Mix,
    outputs: &Outputs,
    progress: impl FnMut(u64),
) -> Result<(Pass, Vec<Unkept>)> {
    let about = origin::about(settings, mix.cores());
    let file = |path: Option<&Path>| path.map(|path| create(path, &about)).transpose();
    let paths = [outputs.requests.as_deref(), outputs.traffic.as_deref()];
    let (mut requests, mut traffic) = (file(paths[0])?, file(paths[1])?);
    let sinks = Sinks {
        requests: requests.as_deref_mut().map(|sink| sink as &mut dyn Sink),
        traffic: traffic.as_deref_mut().map(|sink| sink as &mut dyn Sink),
    };
    let pass = run(settings, mix, sinks, progress)?;
    let mut unkept = Vec::new();
    for (path, sink) in paths.into_iter().zip([requests, traffic]) {
        let (Some(path), Some(sink)) = (path, sink) else {
            continue;
        };
        unkept.push(Unkept {
            path: path.to_owned(),
            lost: sink.lost(),
        });
        sink.finish()?;
    }
    unkept.retain(|unkept| !unkept.lost.is_empty());
    Ok((pass, unkept))
}
