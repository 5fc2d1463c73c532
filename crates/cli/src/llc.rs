//! `terrace sim llc`.

use std::process::ExitCode;

use terrace_base::{Result, User};
use terrace_report::llc::{Input, LlcDocument, text};
use terrace_sim::llc::{self, Extent, LlcMachine, Mix, Outputs, Simulated, Unkept};
use terrace_trace::record::{Recorded, Request, Session, Tools};

use crate::args::llc::Llc;
use crate::progress::Progress;
use crate::record::say_remarks;
use crate::results::{self, People};
use crate::trace::say_lost;
use crate::traces::{Places, counted};

pub fn llc(arguments: &Llc) -> Result<ExitCode> {
    let (grid, catalogue) = (arguments.grid()?, arguments.catalogue()?);
    let outputs = results::Outputs::open(
        &arguments.results,
        &arguments.inputs(),
        &arguments.outputs(),
    )?;
    let say = |(simulated, unkept): (Simulated, Vec<Unkept>), counted, people| {
        let mut document = LlcDocument::new(input(arguments), counted, simulated);
        document.keep(&unkept);
        outputs.say(&document, &text(&document.simulated), people)
    };
    if arguments.program.is_empty() {
        let limit = arguments.limit;
        let columns = grid.columns(arguments.requests.is_some() || arguments.traffic.is_some());
        let (traces, reading) = (&arguments.traces, arguments.places.reading());
        // Of several traces, those that end first begin again.
        let places = match traces.len() {
            0..=1 => None,
            _ => Some(Places::kept(traces, arguments.quiet)?),
        };
        let paths = places.as_ref().map_or(&traces[..], Places::paths);
        let mix = Mix::open(paths, &reading, columns, grid.cores(), limit)?;
        let machine = grid.settings(&catalogue, mix.extent())?;
        let simulated = simulate(arguments, machine, mix)?;
        let counted = counted(traces.iter().zip(paths), &reading.tallies, arguments.quiet);
        say(simulated, counted, People::Standard)?;
        return Ok(ExitCode::SUCCESS);
    }
    let extent = Extent {
        programs: 1,
        cores: grid.cores().unwrap_or(1),
        accesses: None,
    };
    let machine = grid.settings(&catalogue, extent)?;
    let (simulated, recorded) = record(arguments, machine, extent.cores)?;
    if !arguments.quiet {
        say_remarks(&recorded);
    }
    let people = People::beside_a_program(arguments.quiet);
    say(simulated, Vec::new(), people)?;
    recorded.exit().end_like()
}

/// Simulates programs, with a progress bar.
fn simulate(arguments: &Llc, machine: LlcMachine, mix: Mix) -> Result<(Simulated, Vec<Unkept>)> {
    let progress = Progress::new(mix.accesses(), arguments.quiet).doing("simulating");
    let outputs = Outputs {
        requests: arguments.requests.as_deref(),
        traffic: arguments.traffic.as_deref(),
    };
    let simulated = llc::simulate(&machine, mix, outputs, |accesses| progress.at(accesses));
    drop(progress);
    let (pass, unkept) = simulated?;
    if !arguments.quiet {
        unkept
            .iter()
            .for_each(|unkept| say_lost(&unkept.path, &unkept.lost));
    }
    Ok((Simulated { machine, pass }, unkept))
}

/// Runs the program and simulates it at the same time.
fn record(
    arguments: &Llc,
    machine: LlcMachine,
    cores: usize,
) -> Result<((Simulated, Vec<Unkept>), Recorded)> {
    let request = Request {
        limit: arguments.limit,
        ..Request::new(&arguments.program, User::chosen(arguments.user.as_deref())?)?
    };
    let session = Session::start(&Tools::find()?, &request, None)?;
    session.feed(|source| {
        let mix = Mix::single(request.command(), source, cores)?;
        simulate(arguments, machine, mix)
    })
}

fn input(arguments: &Llc) -> Input {
    let (traces, program) = (arguments.traces.iter(), arguments.program.iter());
    match arguments.program.is_empty() {
        true => Input::Traces(traces.map(|path| path.display().to_string()).collect()),
        false => Input::Program(program.map(|word| word.to_string_lossy().into()).collect()),
    }
}
