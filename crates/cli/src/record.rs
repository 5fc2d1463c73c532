//! `terrace record`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use terrace_base::{Bytes, Context, Result, keep_apart};
use terrace_extend::session::LEAST;
use terrace_extend::task::for_recorded;
use terrace_trace::Reading;
use terrace_trace::record::{
    Cut, Progress, RecordSettings, Recorded, Request, Session, Tools, counted,
};

use crate::args::{Filter, Record, Results};
use crate::lost::say_lost;
use crate::results::{Outputs, People};
use crate::screen::{Display, Place, say};
use crate::trace::describe;

pub fn record(arguments: Record) -> Result<ExitCode> {
    let mut request = Request {
        settings: RecordSettings {
            level: arguments.level,
            filtered: arguments.filter == Filter::L1l2,
            contents: arguments.contents,
            depends: arguments.dependences,
            least_mapping: arguments.extended.then_some(LEAST.0),
            ..RecordSettings::default()
        },
        allocations: arguments.allocations.map(|least| least.0),
        library: match arguments.small_blocks {
            true => Some(for_recorded(LEAST)?),
            false => None,
        },
        limit: arguments.limit,
        ..Request::new(&arguments.program, arguments.user.chosen()?)?
    };
    if let Some(limit) = arguments.memory_limit {
        request.memory_limit = limit;
    }
    request.check()?;
    keep_apart(
        &[
            ("standard input", Path::new("/dev/stdin")),
            ("PROGRAM", &request.program),
        ],
        &[("--output", &arguments.output)],
    )?;
    let page = arguments.html.map(|file| {
        let results = Results {
            html: Some(file),
            ..Results::default()
        };
        Outputs::open(&results, &[], &[("--output", &arguments.output)])
    });
    let page = page.transpose()?;
    let tools = Tools::find()?;
    let sink = terrace_trace::create(&arguments.output, &request.about())?;
    let session = Session::start(&tools, &request, None)?;
    let mut display = Display::new(Place::Title, arguments.quiet);
    let recorded = session.write(sink, &mut |progress| {
        display.show(|| status(progress));
    });
    display.clear();
    let recorded = recorded?;
    if !arguments.quiet {
        say_remarks(&recorded);
        say_lost(&arguments.output, &recorded.unkept);
        say(&summary(&recorded, &arguments.output)?);
    }
    if let Some(page) = page {
        let reading = Reading::default();
        describe(
            &arguments.output,
            &reading,
            page,
            arguments.quiet,
            People::Nobody,
        )?;
    }
    if let Err(error) = recorded.check() {
        say(&format!(
            "terrace: {error}; the trace up to there is in {}\n",
            arguments.output.display()
        ));
    }
    recorded.exit().end_like()
}

/// Prints what a reader of the trace must know.
pub fn say_remarks(recorded: &Recorded) {
    for remark in recorded.remarks() {
        say(&format!("terrace: {remark}\n"));
    }
}

fn status(progress: Progress) -> String {
    format!(
        "{:.1} M accesses, {}, {}",
        progress.accesses as f64 / 1e6,
        rate(progress.accesses, progress.wall),
        Bytes(progress.bytes),
    )
}

fn summary(recorded: &Recorded, output: &Path) -> Result<String> {
    let file = output.metadata();
    let bytes = file
        .or_fail(|| format!("cannot look at {}", output.display()))?
        .len();
    let each = bytes as f64 / recorded.accesses.max(1) as f64;
    let limit = match recorded.cut {
        Some(Cut::Rows) => "; ended at the limit",
        Some(Cut::Memory { .. }) => "; ended at the limit of memory",
        Some(Cut::Sanitizer) => "; ended as a program with a sanitizer began",
        Some(Cut::Signal(_)) => "; ended by a second signal",
        None => "",
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
