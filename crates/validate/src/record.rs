//! The recorded half: what a program touches, in a file without a name.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use terrace_base::{Context, Error, Result};
use terrace_live::journal::state_directory;
use terrace_live::program::Invocation;
use terrace_live::program::input::Input;
use terrace_trace::formats::native;
use terrace_trace::record::{COMMAND, RecordSettings, Recorded, Request, Session, Tools, command};
use terrace_trace::{Columns, create_as};

/// A trace without a name: it is gone with this process, however that ends.
#[derive(Debug)]
pub struct Unnamed(File);

impl Unnamed {
    fn new() -> Result<Self> {
        let directory = state_directory();
        let file = tempfile::tempfile_in(&directory);
        file.map(Self)
            .or_fail(|| format!("cannot keep a trace in {}", directory.display()))
    }

    /// Returns the path at which it can be read as long as this lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

/// Records `program` with these settings, `limit` rows of it at most.
///
/// # Errors
/// Returns a usage error if the program cannot be recorded or does not end well, and a failure if
/// the emulator is missing.
pub fn record(
    tools: &Tools,
    program: &Invocation,
    settings: RecordSettings,
    limit: Option<u64>,
) -> Result<(Recorded, Unnamed)> {
    let request = Request {
        settings,
        limit,
        ..Request::new(&program.words, program.user.clone())?
    };
    let trace = Unnamed::new()?;
    let sink = create_as(&trace.path(), native::FORMAT, &request.about())?;
    let input = match &program.input {
        Input::Ours => None,
        other => Some(
            other
                .open()
                .or_fail(|| "cannot use standard input".into())?,
        ),
    };
    let recorded = Session::start(tools, &request, input)?.write(sink, &mut |_| {})?;
    recorded.check()?;
    if recorded.exit().success() && recorded.lost == 0 && recorded.departures == 0 {
        return Ok((recorded, trace));
    }
    Err(Error::failure(format!(
        "the program could not be recorded whole: it {}, {} touches were lost, {} of its \
         programs were not followed",
        recorded.exit(),
        recorded.lost,
        recorded.departures
    )))
}

/// Checks that `trace` is of the program `words`, where it names its program.
///
/// # Errors
/// Returns a usage error that names both programs, and a failure if the trace cannot be opened.
pub fn check_program(trace: &Path, words: &[OsString]) -> Result<()> {
    let source = terrace_trace::open(trace, Columns::PAGES)?;
    let mut about = source.meta().about.iter();
    let recorded = about.find(|(key, _)| key == COMMAND).map(|(_, of)| of);
    let command = command(words);
    match recorded.filter(|recorded| **recorded != command) {
        None => Ok(()),
        Some(recorded) => Err(Error::usage(format!(
            "`{}` is a trace of `{recorded}` and not of `{command}`; give that program's trace, or none to record one",
            trace.display()
        ))),
    }
}
