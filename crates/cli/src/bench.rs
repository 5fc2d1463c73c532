//! `terrace bench`.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use terrace_base::{Bytes, Context, Error, Result};
use terrace_live::bench::{Bench, Event};
use terrace_live::program::{Exit, end_like};
use terrace_live::suite::{BUILT_IN, Program, Suite};
use terrace_report::bench::{Document, Row};

use crate::args;
use crate::screen::Screen;

pub fn bench(arguments: args::Bench) -> Result<ExitCode> {
    if let Some(file) = &arguments.table {
        return Ok(show(&read(file)?));
    }
    let Some(name) = &arguments.suite else {
        print(&suites());
        return Ok(ExitCode::SUCCESS);
    };
    let suite = Suite::open(name)?;
    let programs = suite.select(&arguments.only)?;
    if arguments.list {
        print(&list(&programs));
        return Ok(ExitCode::SUCCESS);
    }
    let mut results = Results::begin(&suite.name, arguments.json)?;
    let bench = Bench {
        programs,
        dram: match arguments.dram {
            given if given.is_empty() => suite.description.dram.clone(),
            given => given,
        },
        repeat: arguments
            .repeat
            .map_or(suite.description.repeat, |n| n as usize),
        tier: arguments.tier,
        prefetch: arguments.prefetch,
        suite,
    };
    let mut screen = Screen::new(arguments.quiet);
    let interrupted = bench.run(&mut |event| {
        match event {
            Event::Preparing(program) => screen.notice(&format!("{}: preparing", program.name)),
            Event::Beginning(program, dram) => {
                screen.notice(&format!(
                    "{} with {dram} of its memory in DRAM",
                    program.name
                ));
            }
            Event::Running(step, event) => screen.tell(step, event),
            Event::Done(row) => {
                screen.clear();
                results.add(Row::of(&row))?;
            }
        }
        Ok(())
    })?;
    // What the suite was unpacked to goes before we do.
    drop(bench);
    let code = show(&results.document);
    match interrupted {
        Some(signal) => end_like(Exit::Signal(signal)),
        None => Ok(code),
    }
}

/// The results so far, and the file they are kept in.
struct Results {
    document: Document,
    file: Option<PathBuf>,
}

impl Results {
    /// Writes the file at once: a suite of an hour shall not end in a path that cannot be written.
    fn begin(suite: &str, file: Option<PathBuf>) -> Result<Self> {
        let results = Self {
            document: Document::new(suite),
            file,
        };
        results
            .save()
            .map_err(|e| Error::usage(format!("{e}; name another file with --json")))?;
        Ok(results)
    }

    fn add(&mut self, row: Row) -> Result<()> {
        self.document.rows.push(row);
        self.save()
    }

    /// Under another name first, so that there is a whole file at any time.
    fn save(&self) -> Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut unfinished = file.clone().into_os_string();
        unfinished.push(".unfinished");
        fs::write(&unfinished, self.document.to_json())
            .and_then(|()| fs::rename(&unfinished, file))
            .or_fail(|| format!("cannot write {}", file.display()))
    }
}

fn read(file: &Path) -> Result<Document> {
    let name = file.display().to_string();
    let text =
        fs::read_to_string(file).map_err(|e| Error::usage(format!("cannot read {name}: {e}")))?;
    Document::parse(&text, &name)
}

/// Prints the table; tells whether a program failed.
fn show(document: &Document) -> ExitCode {
    print(&document.table());
    match document.failed() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// The built-in suites.
fn suites() -> String {
    let lines = BUILT_IN
        .iter()
        .map(|suite| format!("{:7} {}\n", suite.name, suite.summary));
    lines.collect()
}

/// A line a program.
fn list(programs: &[Program]) -> String {
    let width = programs.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for program in programs {
        let footprint = program
            .footprint
            .as_ref()
            .map_or("?".to_owned(), Bytes::to_string);
        let _ = writeln!(
            text,
            "{:width$}  {footprint:>8}  {}",
            program.name, program.description
        );
    }
    text
}

/// Writes to standard output. Whoever reads only the first lines has read what they wanted.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
