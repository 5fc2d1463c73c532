//! `terrace sim llc`.

use std::process::{ExitCode, Stdio};

use terrace_base::{Result, User};
use terrace_report::llc::{Input, LlcDocument, text};
use terrace_sim::llc::{self, Extent, LlcMachine, Mix, Outputs, Pass};
use terrace_trace::record::{Recorded, Request, Session, Tools};

use crate::args::llc::Llc;
use crate::progress::Progress;
use crate::record::say_remarks;
use crate::results::{self, People};

pub fn llc(arguments: &Llc) -> Result<ExitCode> {
    let (grid, catalogue) = (arguments.grid()?, arguments.catalogue()?);
    let outputs = results::Outputs::open(
        &arguments.results,
        &arguments.inputs(),
        &arguments.outputs(),
    )?;
    if arguments.program.is_empty() {
        let (cores, limit) = (arguments.cores(), arguments.limit);
        let mix = Mix::open(&arguments.traces, arguments.format, cores, limit)?;
        let settings = grid.settings(&catalogue, mix.extent())?;
        let pass = simulate(arguments, &settings, mix)?;
        let document = LlcDocument::of(&settings, &input(arguments), &pass);
        outputs.say(&document, &text(&settings, &pass), People::Standard)?;
        return Ok(ExitCode::SUCCESS);
    }
    let extent = Extent {
        programs: 1,
        cores: arguments.cores().unwrap_or(1),
        accesses: None,
    };
    let settings = grid.settings(&catalogue, extent)?;
    let (pass, recorded) = record(arguments, &settings, extent.cores)?;
    if !arguments.quiet {
        say_remarks(&recorded);
    }
    let document = LlcDocument::of(&settings, &input(arguments), &pass);
    let people = People::beside_a_program(arguments.quiet);
    outputs.say(&document, &text(&settings, &pass), people)?;
    recorded.exit().end_like()
}

/// Simulates programs, with a progress bar.
fn simulate(arguments: &Llc, settings: &LlcMachine, mix: Mix) -> Result<Pass> {
    let progress = Progress::new(mix.accesses(), arguments.quiet).doing("simulating");
    let outputs = Outputs {
        requests: arguments.requests.as_deref(),
        traffic: arguments.traffic.as_deref(),
    };
    llc::simulate(settings, mix, outputs, |accesses| progress.at(accesses))
}

/// Runs the program and simulates it at the same time.
fn record(arguments: &Llc, settings: &LlcMachine, cores: usize) -> Result<(Pass, Recorded)> {
    let request = Request {
        limit: arguments.limit,
        ..Request::new(&arguments.program, User::chosen(arguments.user.as_deref())?)?
    };
    let session = Session::start(&Tools::find()?, &request, Stdio::inherit())?;
    session.feed(|source| {
        let mix = Mix::single(request.command(), source, cores)?;
        simulate(arguments, settings, mix)
    })
}

fn input(arguments: &Llc) -> Input {
    match &arguments.program[..] {
        [] => Input::Traces(
            arguments
                .traces
                .iter()
                .map(|path| path.display().to_string())
                .collect(),
        ),
        words => Input::Program(
            words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
        ),
    }
}
