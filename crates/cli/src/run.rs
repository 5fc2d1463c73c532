//! `terrace run`.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use terrace_base::{Error, Result};
use terrace_live::compare::{Request, Results, Step, perform};
use terrace_live::program::{Exit, end_like};
use terrace_live::run::{Event, Status};
use terrace_report::schema::Document;
use terrace_report::status::StatusLine;

use crate::args::Run;

const REDRAW_EVERY: Duration = Duration::from_millis(500);

pub fn run(arguments: Run) -> Result<ExitCode> {
    // Opened first: a run of hours shall not end in a path that cannot be written.
    let json = arguments.json.as_ref().map(|path| {
        File::create(path).map_err(|e| {
            Error::usage(format!(
                "cannot write {}: {e}; name another file with --json",
                path.display()
            ))
        })
    });
    let json = json.transpose()?;
    let request = Request {
        command: arguments.program,
        dram: arguments.dram,
        footprint: arguments.footprint,
        tier: arguments.tier,
        prefetch: arguments.prefetch.0,
        compare: arguments.compare,
        repeat: arguments.repeat as usize,
    };
    let mut screen = Screen::new(arguments.quiet);
    let results = perform(&request, &mut |step, event| match event {
        Event::Running(status) => screen.show(step, status),
        Event::Notice(text) => screen.notice(text),
    });
    screen.clear();
    let results = results?;

    for remark in terrace_report::run::remarks(&results) {
        say(&format!("terrace: {remark}\n"));
    }
    if !arguments.quiet {
        let table = if arguments.compare {
            terrace_report::run::comparison(&results, arguments.endurance)
        } else {
            terrace_report::run::single(&results, arguments.endurance)
        };
        say(&table);
    }
    if let Some(mut file) = json {
        let text = Document::of(&results, arguments.endurance).to_json();
        file.write_all(text.as_bytes())
            .map_err(|e| Error::failure(format!("cannot write the JSON file: {e}")))?;
    }
    end_like(exit(&results, request.repeat))
}

/// The program's own end: of several runs, the first that failed.
fn exit(results: &Results, repeat: usize) -> Exit {
    let outcomes = results.runs.iter().flat_map(|runs| &runs.outcomes);
    let failed = outcomes.map(|o| o.exit).find(|exit| !exit.success());
    let unfinished = results.runs.iter().any(|r| r.outcomes.len() < repeat);
    match (failed, results.interrupted) {
        (Some(exit), _) => exit,
        (None, Some(signal)) if unfinished => Exit::Signal(signal),
        _ => Exit::Code(0),
    }
}

/// Writes to people. That nobody reads it any more is no reason to fail.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The status line on a terminal, redrawn in place.
struct Screen {
    quiet: bool,
    terminal: bool,
    drawn: Option<Instant>,
    line: StatusLine,
}

impl Screen {
    fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            drawn: None,
            line: StatusLine::default(),
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

    fn notice(&mut self, text: &str) {
        if !self.quiet {
            self.clear();
            say(&format!("terrace: {text}\n"));
        }
    }

    fn clear(&mut self) {
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
