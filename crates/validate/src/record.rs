//! The recorded half: every touch of a page, in a file without a name.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use terrace_base::{Context, Error, Result};
use terrace_live::journal::state_directory;
use terrace_live::program::Invocation;
use terrace_trace::Columns;
use terrace_trace::record::{COMMAND, Level, RecordSettings, Request, Session, Tools, command};

/// What a recording took.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// Touches of pages.
    pub touches: u64,
    /// Time from the program's start to the end of writing.
    pub wall: Duration,
}

/// A trace without a name: it is gone with this process, however that ends.
#[derive(Debug)]
pub struct Unnamed(File);

impl Unnamed {
    /// Returns the path at which it can be read as long as this lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }

    /// Opens a trace and removes its name.
    fn of(trace: &Path) -> Result<Self> {
        let file = File::open(trace).and_then(|file| fs::remove_file(trace).map(|()| file));
        file.map(Self)
            .or_fail(|| format!("cannot take the name of {}", trace.display()))
    }
}

/// Records the touches of pages of `program`.
///
/// # Errors
/// A usage error where the program cannot be recorded or does not end well; a failure where the
/// emulator is missing.
pub fn record(tools: &Tools, program: &Invocation) -> Result<(Recorded, Unnamed)> {
    let request = Request {
        settings: RecordSettings {
            level: Level::Pages,
            filtered: false,
        },
        ..Request::new(&program.words, program.user.clone())?
    };
    let trace = state_directory().join(format!("trace-{}.parquet", process::id()));
    let sink = terrace_trace::create(&trace, &request.about())?;
    let input = program.input.open();
    let input = input.or_fail(|| "cannot use standard input".into())?;
    let recorded = Session::start(tools, &request, input)?.write(sink, &mut |_| {})?;
    // The trace has its name only from its completion until here.
    let unnamed = Unnamed::of(&trace)?;
    if !recorded.exit().success() || recorded.lost > 0 || recorded.departures > 0 {
        return Err(Error::failure(format!(
            "the program could not be recorded whole: it {}, {} touches were lost, {} of its \
             programs were not followed",
            recorded.exit(),
            recorded.lost,
            recorded.departures
        )));
    }
    let recorded = Recorded {
        touches: recorded.accesses,
        wall: recorded.wall,
    };
    Ok((recorded, unnamed))
}

/// Checks that `trace` is of the program `words`, where it says of which program it is.
///
/// # Errors
/// A usage error that names both programs; a failure where the trace cannot be opened.
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
