//! Lines of figures, written while a program runs.

use std::fs::File;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

use terrace_base::output::open_now;
use terrace_base::{Context, Result};
use terrace_live::measure::compare::Step;
use terrace_live::run::Event;
use terrace_report::interval::IntervalLine;

use crate::args::Meanwhile;
use crate::args::results::is_standard;
use crate::screen::say;

/// Where lines go, and what could not be written there.
pub struct Lines {
    sink: Sink,
    /// Lines that are not there, and why the first of them is not.
    lost: Option<(u64, io::Error)>,
}

enum Sink {
    Error,
    Standard,
    File(File, PathBuf),
}

impl Lines {
    /// Opens the file of the lines, if there is one.
    ///
    /// # Errors
    /// A usage error if it cannot be written.
    pub fn open(options: &Meanwhile) -> Result<Self> {
        let sink = match options.interval_to.as_deref() {
            None => Sink::Error,
            Some(path) if is_standard(path) => Sink::Standard,
            Some(path) => Sink::File(open_now(path)?, path.to_owned()),
        };
        Ok(Self { sink, lost: None })
    }

    /// Returns the option of the file, and its path or `-`, to be kept apart from others.
    pub fn named(options: &Meanwhile) -> Option<(&'static str, &Path)> {
        let path = options.interval_to.as_deref()?;
        Some(("--interval-to", path))
    }

    /// Writes the line of an interval that has ended. One that cannot be written is no reason to
    /// stop the program; none follows it, because half of it may be there.
    pub fn tell(&mut self, step: &Step, event: &Event) {
        let Event::Interval(interval) = event else {
            return;
        };
        if let Some((lines, _)) = &mut self.lost {
            *lines += 1;
            return;
        }
        let line = IntervalLine::of(step, interval).to_line();
        let written = match &mut self.sink {
            Sink::Error => {
                say(&line);
                Ok(())
            }
            Sink::Standard => stdout().write_all(line.as_bytes()),
            Sink::File(file, _) => file.write_all(line.as_bytes()),
        };
        self.lost = written.err().map(|error| (1, error));
    }

    /// Ends the lines.
    ///
    /// # Errors
    /// A failure if some could not be written, unless their reader has gone.
    pub fn end(self) -> Result<()> {
        let Some((lines, error)) = self.lost else {
            return Ok(());
        };
        let place = match self.sink {
            Sink::File(_, path) => path.display().to_string(),
            Sink::Error | Sink::Standard => "standard output".to_owned(),
        };
        match error.kind() {
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error).or_fail(|| {
                let noun = if lines == 1 { "line" } else { "lines" };
                format!("{lines} {noun} of --interval could not be written to {place}")
            }),
        }
    }
}
