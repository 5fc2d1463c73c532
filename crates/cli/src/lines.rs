//! Lines of figures, written while a program runs.

use std::fs::File;
use std::io::{Write, stdout};
use std::path::Path;

use terrace_base::{Context, Result};
use terrace_live::compare::Step;
use terrace_live::run::Event;
use terrace_report::interval::IntervalLine;

use crate::args::Meanwhile;
use crate::args::results::is_standard;
use crate::screen::say;

/// Where lines go.
pub enum Lines {
    /// Standard error.
    Error,
    /// Standard output.
    Standard,
    /// A file.
    File(File),
}

impl Lines {
    /// Opens the file of the lines, if there is one.
    ///
    /// # Errors
    /// A failure if it cannot be written.
    pub fn open(options: &Meanwhile) -> Result<Self> {
        match options.interval_to.as_deref() {
            None => Ok(Self::Error),
            Some(path) if is_standard(path) => Ok(Self::Standard),
            Some(path) => File::create(path)
                .map(Self::File)
                .or_fail(|| format!("cannot write {}", path.display())),
        }
    }

    /// Returns the option of the file, and its path, to be kept apart from others.
    pub fn named(options: &Meanwhile) -> Option<(&'static str, &Path)> {
        let path = options.interval_to.as_deref();
        let path = path.filter(|path| !is_standard(path))?;
        Some(("--interval-to", path))
    }

    /// Writes the line of an interval that has ended. One that cannot be written is no reason to stop the program.
    pub fn tell(&mut self, step: &Step, event: &Event) {
        let Event::Interval(interval) = event else {
            return;
        };
        let line = IntervalLine::of(step, interval).to_line();
        let _ = match self {
            Self::Error => {
                say(&line);
                Ok(())
            }
            Self::Standard => stdout().write_all(line.as_bytes()),
            Self::File(file) => file.write_all(line.as_bytes()),
        };
    }
}
