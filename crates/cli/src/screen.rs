//! Status and notices on the terminal while a program runs.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use terrace_live::measure::compare::Step;
use terrace_live::run::{Event, Status};
use terrace_report::status::StatusLine;

use crate::usage;

const REDRAW_EVERY: Duration = Duration::from_millis(500);

/// Writes to standard error. A closed standard error is ignored.
pub fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Place of a status on a terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line that is redrawn, if nothing else writes to the terminal.
    Line,
    /// The title, if a program writes to the terminal. Neither a stop, a resize nor a kill leaves
    /// traces of the status in the program's output.
    Title,
}

/// Status on a terminal; never shown elsewhere.
pub struct Display {
    place: Place,
    wanted: bool,
    drawn: Option<Instant>,
}

impl Display {
    /// Returns a display, which shows nothing if `quiet`.
    pub fn new(place: Place, quiet: bool) -> Self {
        let kind = std::env::var("TERM").unwrap_or_default();
        let has_title = !["", "dumb", "linux"].contains(&kind.as_str());
        Self {
            place,
            wanted: !quiet
                && std::io::stderr().is_terminal()
                && (place == Place::Line || has_title),
            drawn: None,
        }
    }

    /// Shows a status unless the last one is less than half a second old.
    pub fn show(&mut self, status: impl FnOnce() -> String) {
        if !self.wanted || self.drawn.is_some_and(|at| at.elapsed() < REDRAW_EVERY) {
            return;
        }
        let first = self.drawn.replace(Instant::now()).is_none();
        // A longer line would wrap and could not be redrawn.
        let visible: String = status().chars().take(columns() - 1).collect();
        say(&match self.place {
            Place::Line => format!("\r\x1b[K{visible}"),
            // The title that was found is put on the terminal's stack first (xterm, CSI 22 t).
            Place::Title if first => format!("\x1b[22;2t\x1b]2;{visible}\x07"),
            Place::Title => format!("\x1b]2;{visible}\x07"),
        });
    }

    /// Removes the status.
    pub fn clear(&mut self) {
        if self.drawn.take().is_some() {
            say(match self.place {
                Place::Line => "\r\x1b[K",
                // Emptied first: a terminal without such a stack would keep this title.
                Place::Title => "\x1b]2;\x07\x1b[23;2t",
            });
        }
    }
}

/// Status and notices of runs.
pub struct Screen {
    quiet: bool,
    display: Display,
    line: StatusLine,
}

impl Screen {
    /// Returns a display, which shows nothing if `quiet`.
    pub fn new(place: Place, quiet: bool) -> Self {
        Self {
            quiet,
            display: Display::new(place, quiet),
            line: StatusLine::default(),
        }
    }

    /// Shows an event.
    pub fn tell(&mut self, step: Step, event: Event) {
        match event {
            Event::Running(status) => self.show(step, status),
            event => self.say(event),
        }
    }

    /// Writes notices and warnings, and ignores the status.
    pub fn say(&mut self, event: Event) {
        match event {
            Event::Running(_) | Event::Interval(_) => {}
            Event::Notice(text) => self.notice(text),
            Event::Warning(text) => self.write(text),
        }
    }

    fn show(&mut self, step: Step, status: &Status) {
        let line = &mut self.line;
        self.display.show(|| line.line(step, status));
    }

    /// Writes a notice unless `quiet`.
    pub fn notice(&mut self, text: &str) {
        if !self.quiet {
            self.write(text);
        }
    }

    fn write(&mut self, text: &str) {
        if self.display.place == Place::Line {
            self.display.clear();
        }
        let text = usage::with_options(text.to_owned());
        say(&format!("terrace: {text}\n"));
    }

    /// Removes the status.
    pub fn clear(&mut self) {
        self.display.clear();
    }
}

/// Returns the width of the terminal in characters.
fn columns() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(80, |(width, _)| usize::from(width.0).max(1))
}
