//! `terrace record`.

use std::io::{IsTerminal, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use terrace_base::{Bytes, Context, Result};
use terrace_live::program::{self, Exit, end_like};
use terrace_live::signals::{Signals, Target};
use terrace_trace::record::{Progress, Recorded, Recording, Request, Settings, Tools};

use crate::args::{Filter, Record};

const REDRAW_EVERY: Duration = Duration::from_millis(500);

pub fn record(arguments: Record) -> Result<ExitCode> {
    let request = Request {
        program: program::find(&arguments.program)?,
        settings: Settings {
            level: arguments.level.into(),
            filtered: arguments.filter == Filter::L1l2,
        },
        limit: arguments.limit,
        arguments: arguments.program.clone(),
    };
    let tools = Tools::find()?;
    let mut sink = terrace_trace::create(&arguments.output, &about(&arguments))?;
    // Ctrl-C is for the program; what it did until then is a trace all the same.
    let signals = Signals::receive()?;
    let mut recording = Recording::start(&tools, &request)?;
    signals.aim(Target::Program(recording.pid()));
    signals.pass_on();
    let mut screen = Screen::new(arguments.quiet);
    let recorded = recording.drain(&mut *sink, &mut |progress| screen.show(progress));
    signals.aim(Target::Nobody);
    screen.clear();
    let recorded = recorded?;

    let remarks = remarks(&recorded);
    for (key, value) in outcome(&recorded, &remarks) {
        sink.note(key, &value);
    }
    sink.finish()?;
    for remark in &remarks {
        say(&format!("terrace: {remark}\n"));
    }
    if !arguments.quiet {
        say(&summary(&recorded, &arguments.output)?);
    }
    drop(signals);
    end_like(exit(&recorded))
}

/// What is known before the program runs.
fn about(arguments: &Record) -> Vec<(String, String)> {
    let command: Vec<_> = arguments
        .program
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let level = value_name(arguments.level);
    let filter = value_name(arguments.filter);
    [
        ("recorded.command", command.join(" ")),
        ("recorded.level", level),
        ("recorded.filter", filter),
        (
            "recorded.by",
            format!("terrace {}", env!("CARGO_PKG_VERSION")),
        ),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

fn value_name(value: impl clap::ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// What is known when it has ended.
fn outcome(recorded: &Recorded, remarks: &[String]) -> Vec<(&'static str, String)> {
    let mut outcome = vec![
        ("recorded.processes", recorded.processes.to_string()),
        ("recorded.threads", recorded.threads.to_string()),
    ];
    if !remarks.is_empty() {
        outcome.push(("recorded.remarks", remarks.join("; ")));
    }
    outcome
}

/// What whoever uses the trace must know.
pub fn remarks(recorded: &Recorded) -> Vec<String> {
    let mut remarks = Vec::new();
    if recorded.departures > 0 {
        let mut programs = recorded.departed.clone();
        programs.sort();
        programs.dedup();
        remarks.push(format!(
            "{} started outside the emulator and were not recorded: {}",
            counted(recorded.departures.into(), "program"),
            programs.join(", ")
        ));
    }
    if recorded.lost > 0 {
        remarks.push(format!(
            "{} were lost: too many threads at a time",
            counted(recorded.lost, "access")
        ));
    }
    if recorded.left > 0 {
        remarks.push(format!(
            "the program left {} running; what they do now is not recorded",
            counted(recorded.left as u64, "process")
        ));
    }
    for (numbers, what) in [
        (recorded.processes, "processes"),
        (recorded.threads, "threads"),
    ] {
        if numbers > 1 << 16 {
            remarks.push(format!(
                "of {numbers} {what} those from number 65535 on share that number"
            ));
        }
    }
    remarks
}

fn summary(recorded: &Recorded, output: &Path) -> Result<String> {
    let file = output.metadata();
    let bytes = file
        .or_fail(|| format!("cannot look at {}", output.display()))?
        .len();
    let each = bytes as f64 / recorded.accesses.max(1) as f64;
    let limit = match recorded.limited {
        true => "; ended at the limit",
        false => "",
    };
    Ok(format!(
        "terrace: {}, {}, {}, {:.1} s ({}); {} in {}, {each:.2} bytes each{limit}\n",
        counted(recorded.accesses, "access"),
        counted(recorded.processes.into(), "process"),
        counted(recorded.threads.into(), "thread"),
        recorded.wall.as_secs_f64(),
        rate(recorded.accesses, recorded.wall),
        Bytes(bytes),
        output.display(),
    ))
}

fn rate(accesses: u64, wall: Duration) -> String {
    let millions = accesses as f64 / 1e6 / wall.as_secs_f64().max(1e-9);
    format!("{millions:.1} M/s")
}

/// "1 process", "2 processes".
fn counted(number: u64, noun: &str) -> String {
    match (number, noun.ends_with('s')) {
        (1, _) => format!("1 {noun}"),
        (_, true) => format!("{number} {noun}es"),
        (_, false) => format!("{number} {noun}s"),
    }
}

/// How the program ended; at the limit we have ended it, as was asked.
pub fn exit(recorded: &Recorded) -> Exit {
    match recorded.limited {
        true => Exit::Code(0),
        false => from_status(recorded.exit),
    }
}

fn from_status(status: ExitStatus) -> Exit {
    match status.signal() {
        Some(signal) => Exit::Signal(signal),
        None => Exit::Code(status.code().unwrap_or_default()),
    }
}

/// Writes to people. That nobody reads it any more is no reason to fail.
pub fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The status line on a terminal, redrawn in place.
struct Screen {
    wanted: bool,
    drawn: Option<Instant>,
}

impl Screen {
    fn new(quiet: bool) -> Self {
        Self {
            wanted: !quiet && std::io::stderr().is_terminal(),
            drawn: None,
        }
    }

    fn show(&mut self, progress: Progress) {
        if self.wanted && self.drawn.is_none_or(|at| at.elapsed() >= REDRAW_EVERY) {
            self.drawn = Some(Instant::now());
            say(&format!(
                "\r\x1b[K{:.1} M accesses, {}, {}",
                progress.accesses as f64 / 1e6,
                rate(progress.accesses, progress.wall),
                Bytes(progress.bytes),
            ));
        }
    }

    fn clear(&mut self) {
        if self.drawn.take().is_some() {
            say("\r\x1b[K");
        }
    }
}
