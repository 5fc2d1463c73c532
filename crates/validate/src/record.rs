//! The recorded half: every touch of a page, in a file that goes away.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use terrace_base::{Error, Result};
use terrace_live::program;
use terrace_live::signals::{Signals, Target};
use terrace_trace::record::{Level, Progress, Recording, Request, Settings, Tools};

/// What a recording took.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// Touches of pages.
    pub touches: u64,
    /// From the program's start to the end of writing.
    pub wall: Duration,
}

/// Records the touches of pages of `command` into `trace`.
///
/// # Errors
/// A usage error where the program cannot be recorded or does not end well; a failure where the
/// emulator is missing.
pub fn record(
    tools: &Tools,
    command: &[OsString],
    trace: &Path,
    watch: &mut dyn FnMut(Progress),
) -> Result<Recorded> {
    let request = Request {
        program: program::find(command)?,
        arguments: command.to_vec(),
        settings: Settings {
            level: Level::Pages,
            filtered: false,
        },
        limit: None,
    };
    let mut sink = terrace_trace::create(trace, &[])?;
    let signals = Signals::receive()?;
    let mut recording = Recording::start(tools, &request)?;
    signals.aim(Target::Program(recording.pid()));
    signals.pass_on();
    let recorded = recording.drain(&mut *sink, watch);
    signals.aim(Target::Nobody);
    let recorded = recorded?;
    if !recorded.exit.success() || recorded.lost > 0 || recorded.departures > 0 {
        return Err(Error::failure(format!(
            "the program could not be recorded whole: it ended with {}, {} touches were lost, {} \
             of its programs were not followed",
            recorded.exit, recorded.lost, recorded.departures
        )));
    }
    sink.finish()?;
    Ok(Recorded {
        touches: recorded.accesses,
        wall: recorded.wall,
    })
}
