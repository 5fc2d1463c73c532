//! `terrace run`.

use std::path::Path;
use std::process::ExitCode;

use terrace_base::{Bytes, Result};
use terrace_live::measure::compare::perform;
use terrace_live::measure::request::Request;
use terrace_live::program::Invocation;
use terrace_live::run::Measures;
use terrace_live::steer::lesson::LessonFile;
use terrace_live::steer::placement::Placement;
use terrace_report::schema::RunDocument;
use terrace_sim::place::PlacementFile;

use crate::args::Run;
use crate::lines::Lines;
use crate::results::{Outputs, People};
use crate::screen::{Place, Screen, say};

pub fn run(arguments: Run) -> Result<ExitCode> {
    let program = arguments
        .program
        .first()
        .map(|path| ("PROGRAM", Path::new(path)));
    let mut inputs = vec![("standard input", Path::new("/dev/stdin"))];
    inputs.extend(program);
    inputs.extend(arguments.tier.device());
    let learn = arguments.learn.as_deref().map(|path| ("--learn", path));
    inputs.extend(learn);
    let place = arguments.place.as_deref();
    inputs.extend(place.map(|path| ("--place", path)));
    let placement = place.map(placement).transpose()?;
    let others: Vec<_> = Lines::named(&arguments.meanwhile).into_iter().collect();
    let outputs = Outputs::open(&arguments.results, &inputs, &others)?;
    let mut lines = Lines::open(&arguments.meanwhile)?;
    let request = Request {
        command: Invocation {
            words: arguments.program,
            user: arguments.user.chosen()?,
            huge_pages: arguments.huge_pages,
            fixed_addresses: arguments.learn.is_some(),
            sees_limit: arguments.view.see_limit,
            ..Invocation::default()
        },
        dram: arguments.dram,
        footprint: arguments.footprint,
        tier: arguments.tier.choice(),
        zswap: arguments.zswap,
        prefetch: arguments.prefetch.0.into_iter().collect(),
        eviction: arguments.eviction.0,
        migration: arguments.migration,
        placement,
        lesson: arguments.learn.map(LessonFile::new),
        writes: arguments.writes,
        measure: arguments.measure,
        measures: Measures {
            after: arguments.after,
            waits: arguments.meanwhile.latency,
            every: arguments.meanwhile.interval,
        },
        compare: arguments.compare,
        repeat: arguments.repeat as usize,
    };
    let mut screen = Screen::new(Place::Title, arguments.quiet);
    let results = perform(&request, &mut |step, event| {
        lines.tell(&step, &event);
        screen.tell(step, event);
    });
    screen.clear();
    let results = results?;

    let interruption = terrace_report::run::interruption(&results).filter(|_| !arguments.quiet);
    for remark in interruption
        .into_iter()
        .chain(terrace_report::run::remarks(&results))
    {
        say(&format!("terrace: {remark}\n"));
    }
    let text = match arguments.compare {
        true => terrace_report::run::comparison(&results, arguments.endurance, arguments.wide),
        false => terrace_report::run::single(&results, arguments.endurance),
    };
    let document = RunDocument::of(&results, arguments.endurance);
    outputs.say(&document, &text, People::beside_a_program(arguments.quiet))?;
    lines.end()?;
    results.exit(request.repeat).end_like()
}

/// Reads a placement file.
pub fn placement(path: &Path) -> Result<Placement> {
    let file = PlacementFile::load(path)?;
    Ok(Placement {
        path: path.to_owned(),
        program: file.program,
        bytes: Bytes(file.fast_bytes),
        sites: file.sites.into_iter().map(|site| site.calls).collect(),
    })
}
