//! What people see while a program runs.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use terrace_live::compare::Step;
use terrace_live::run::{Event, Status};
use terrace_report::status::StatusLine;

const REDRAW_EVERY: Duration = Duration::from_millis(500);

/// Writes to people. That nobody reads it any more is no reason to fail.
pub fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The status line on a terminal, redrawn in place.
pub struct Screen {
    quiet: bool,
    terminal: bool,
    drawn: Option<Instant>,
    line: StatusLine,
}

impl Screen {
    /// One that shows nothing if it shall be quiet.
    pub fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            drawn: None,
            line: StatusLine::default(),
        }
    }

    /// Shows what goes on.
    pub fn tell(&mut self, step: Step, event: Event) {
        match event {
            Event::Running(status) => self.show(step, status),
            Event::Notice(text) => self.notice(text),
        }
    }

    fn show(&mut self, step: Step, status: &Status) {
        let due = self.drawn.is_none_or(|at| at.elapsed() >= REDRAW_EVERY);
        if self.terminal && !self.quiet && due {
            self.drawn = Some(Instant::now());
            let line = self.line.line(step, status);
            // A longer line would wrap and could not be redrawn.
            let visible: String = line.chars().take(columns() - 1).collect();
            say(&format!("\r\x1b[K{visible}"));
        }
    }

    /// Writes a line of its own.
    pub fn notice(&mut self, text: &str) {
        if !self.quiet {
            self.clear();
            say(&format!("terrace: {text}\n"));
        }
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.drawn.take().is_some() {
            say("\r\x1b[K");
        }
    }
}

/// The width of the terminal.
fn columns() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(80, |(width, _)| usize::from(width.0).max(1))
}
