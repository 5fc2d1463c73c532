//! `terrace run`.

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;

use terrace_base::{Error, Result};
use terrace_live::compare::{Request, Results, perform};
use terrace_live::program::{Exit, end_like};
use terrace_report::schema::Document;

use crate::args::Run;
use crate::screen::{Screen, say};

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
        command: arguments.program.into(),
        dram: arguments.dram,
        footprint: arguments.footprint,
        tier: arguments.tier,
        prefetch: arguments.prefetch.0.into_iter().collect(),
        compare: arguments.compare,
        repeat: arguments.repeat as usize,
    };
    let mut screen = Screen::new(arguments.quiet);
    let results = perform(&request, &mut |step, event| screen.tell(step, event));
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
