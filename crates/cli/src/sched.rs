//! `terrace sched`.

use std::path::Path;
use std::process::ExitCode;

use terrace_base::Result;
use terrace_live::program::Invocation;
use terrace_live::sched::compare::{Request, Results, perform};
use terrace_live::sched::profile;
use terrace_live::sched::run::{Settings, Told};
use terrace_report::sched::{ProfileDocument, SchedDocument, line, profile_text, text};

use crate::args;
use crate::args::sched::{AttachMix, Command, Profile, RunMix, Turns};
use crate::results::{Outputs, People};
use crate::screen::{Display, Place, say};

pub fn sched(arguments: args::Sched) -> Result<ExitCode> {
    match arguments.command {
        Command::Run(run) => run_mix(&run),
        Command::Attach(attach) => attach_to(&attach),
        Command::Profile(asked) => profile_of(asked),
    }
}

fn run_mix(arguments: &RunMix) -> Result<ExitCode> {
    let file = arguments.file.as_deref().map(|path| ("--file", path));
    let first = arguments.programs.first();
    let program = first.map(|path| ("PROGRAM", Path::new(path)));
    let inputs: Vec<_> = file.into_iter().chain(program).collect();
    let outputs = Outputs::open(&arguments.results, &inputs, &[])?;
    let request = Request {
        mix: arguments.mix()?,
        policies: arguments.turns.slice.policies(arguments.compare)?,
        repeat: arguments.repeat as usize,
        settings: settings(&arguments.turns, arguments.compare)?,
    };
    let results = followed(&request, Place::Title, arguments.quiet)?;
    let document = SchedDocument::of(&request, &results);
    let people = People::beside_a_program(arguments.quiet);
    outputs.say(&document, &text(&document), people)?;
    results.exit(request.repeat).end_like()
}

fn attach_to(arguments: &AttachMix) -> Result<ExitCode> {
    let outputs = Outputs::open(&arguments.results, &[], &[])?;
    let request = Request {
        mix: arguments.mix(),
        policies: arguments.turns.slice.policies(false)?,
        repeat: 1,
        settings: Settings {
            time: arguments.time,
            ..settings(&arguments.turns, false)?
        },
    };
    let results = followed(&request, Place::Line, arguments.quiet)?;
    let document = SchedDocument::of(&request, &results);
    outputs.show(&document, &text(&document))
}

/// Returns how turns are made live.
pub fn settings(turns: &Turns, waits: bool) -> Result<Settings> {
    Ok(Settings {
        cpus: turns.cpus.clone(),
        mechanism: turns.mechanism,
        cache: turns.llc,
        waits,
        time: None,
    })
}

/// Carries out a request with a status on the terminal.
fn followed(request: &Request, place: Place, quiet: bool) -> Result<Results> {
    let mut display = Display::new(place, quiet);
    let results = perform(request, &mut |step, told| match told {
        Told::Running(status) => display.show(|| line(step, status)),
        Told::Notice(_) if quiet => {}
        Told::Notice(text) => {
            if place == Place::Line {
                display.clear();
            }
            say(&format!("terrace: {text}\n"));
        }
    });
    display.clear();
    let results = results?;
    if let Some(error) = &results.left_behind {
        say(&format!(
            "terrace: {error}; it is put back as soon as that is possible, or then by: terrace doctor --clean\n"
        ));
    }
    Ok(results)
}

fn profile_of(arguments: Profile) -> Result<ExitCode> {
    let first = arguments.program.first();
    let program = first.map(|path| ("PROGRAM", Path::new(path)));
    let inputs: Vec<_> = program.into_iter().collect();
    let outputs = Outputs::open(&arguments.results, &inputs, &[])?;
    let invocation = Invocation {
        user: arguments.user.chosen()?,
        huge_pages: true,
        ..arguments.program.into()
    };
    let program = (!invocation.words.is_empty()).then_some(&invocation);
    let results = profile::perform(program, &mut |notice| {
        if !arguments.quiet {
            say(&format!("terrace: {notice}\n"));
        }
    })?;
    let document = ProfileDocument::of(&results);
    outputs.say(&document, &profile_text(&document), People::Error)?;
    Ok(ExitCode::SUCCESS)
}
