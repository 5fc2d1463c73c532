//! `terrace bench`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use terrace_base::output::print;
use terrace_base::{Error, Exit, Output, Result};
use terrace_live::measure::bench::{Bench, Event};
use terrace_live::measure::suite::{BUILT_IN, Program, Suite};
use terrace_report::bench::{BenchDocument, Row};
use terrace_results::document::Document;

use crate::args;
use crate::args::results::is_standard;
use crate::results::{Outputs, People};
use crate::screen::{Place, Screen};

pub fn bench(arguments: args::Bench) -> Result<ExitCode> {
    if let Some(file) = &arguments.table {
        let outputs = Outputs::open(&arguments.results, &[("--table", file)], &[])?;
        return show(&read(file)?, outputs);
    }
    let Some(name) = &arguments.suite else {
        print(suites())?;
        return Ok(ExitCode::SUCCESS);
    };
    let suite = Suite::open(name)?;
    let programs = suite.select(&arguments.only)?;
    if arguments.list {
        print(list(&programs))?;
        return Ok(ExitCode::SUCCESS);
    }
    let inputs: Vec<_> = arguments.tier.device().into_iter().collect();
    let outputs = Outputs::open(&arguments.results, &inputs, &[])?;
    let user = arguments.user.chosen()?;
    let mut results = Results::begin(&suite.name, arguments.results.json)?;
    let bench = Bench {
        programs,
        dram: match arguments.dram {
            given if given.is_empty() => suite.description.dram.clone(),
            given => given,
        },
        repeat: arguments
            .repeat
            .map_or(suite.description.repeat, |n| n as usize),
        tier: arguments.tier.choice(),
        prefetch: arguments.prefetch,
        eviction: arguments.eviction.0,
        user,
        sees_limit: arguments.view.see_limit,
        suite,
    };
    let mut screen = Screen::new(Place::Line, arguments.quiet);
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
    let code = show(&results.document, outputs)?;
    match interrupted {
        Some(signal) => Exit::Signal(signal).end_like(),
        None => Ok(code),
    }
}

/// Results so far, and the file of --json.
struct Results {
    document: BenchDocument,
    file: Option<PathBuf>,
}

impl Results {
    /// Writes the file at once, so that a suite of an hour does not end in a path that cannot be
    /// written.
    fn begin(suite: &str, file: Option<PathBuf>) -> Result<Self> {
        let results = Self {
            document: BenchDocument::new(suite),
            file,
        };
        results.save()?;
        Ok(results)
    }

    fn add(&mut self, row: Row) -> Result<()> {
        self.document.rows.push(row);
        self.save()
    }

    fn save(&self) -> Result<()> {
        match &self.file {
            Some(file) if !is_standard(file) => {
                Output::save(file, self.document.to_json().as_bytes())
            }
            _ => Ok(()),
        }
    }
}

fn read(file: &Path) -> Result<BenchDocument> {
    let name = file.display().to_string();
    let text =
        fs::read_to_string(file).map_err(|e| Error::usage(format!("cannot read {name}: {e}")))?;
    BenchDocument::parse(&text, &name)
}

/// Writes the results. The exit code tells whether a program failed.
fn show(document: &BenchDocument, outputs: Outputs) -> Result<ExitCode> {
    outputs.say(document, &document.table(), People::Standard)?;
    Ok(u8::from(document.failed()).into())
}

/// Lists the built-in suites.
fn suites() -> String {
    let lines = BUILT_IN
        .iter()
        .map(|suite| format!("{:7} {}\n", suite.name, suite.summary));
    lines.collect()
}

/// Lists programs, a line each.
fn list(programs: &[Program]) -> String {
    let width = programs.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let line = |program: &Program| {
        let footprint = program
            .footprint
            .map_or("?".to_owned(), |it| it.to_string());
        let Program {
            name, description, ..
        } = program;
        format!("{name:width$}  {footprint:>8}  {description}\n")
    };
    programs.iter().map(line).collect()
}
