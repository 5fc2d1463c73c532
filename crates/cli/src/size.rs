//! `terrace size`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use terrace_base::{Exit, Result};
use terrace_device::Catalogue;
use terrace_live::control::size::{Event, perform};
use terrace_live::run::attach::End;
use terrace_report::size::{SizeDocument, line, text};
use terrace_sim::pages::{Beside, Machine, PageSimulation};
use terrace_sim::setting::Given;
use terrace_sim::traces::Traces;
use terrace_sim::{Simulation as _, simulate};
use terrace_trace::{Columns, Reading};

use crate::args::Size;
use crate::progress::Bars;
use crate::results::{Outputs, People};
use crate::screen::{Display, Place, say};
use crate::usage;

pub fn size(arguments: Size) -> Result<ExitCode> {
    let program = arguments.program.first();
    let program = program.map(|path| ("PROGRAM", Path::new(path)));
    let mut inputs: Vec<_> = program.into_iter().collect();
    inputs.extend(arguments.tier.device());
    inputs.extend(arguments.trace.iter().map(|path| ("--trace", &**path)));
    let outputs = Outputs::open(&arguments.results, &inputs, &[])?;
    let simulation = Simulation::of(&arguments)?;
    let (goal, endurance, quiet) = (arguments.slowdown, arguments.endurance, arguments.quiet);
    let place = match arguments.program.is_empty() {
        true => Place::Line,
        false => Place::Title,
    };
    let request = arguments.request()?;
    let mut display = Display::new(place, quiet);
    let results = perform(&request, &mut |event| match event {
        Event::Look(progress) => display.show(|| line(progress)),
        Event::Notice(_) if quiet => {}
        Event::Notice(text) | Event::Warning(text) => {
            if place == Place::Line {
                display.clear();
            }
            say(&format!(
                "terrace: {}\n",
                usage::with_options(text.to_owned())
            ));
        }
    });
    display.clear();
    let results = results?;
    if let Some(error) = &results.left_behind {
        say(&format!(
            "terrace: {error}; it is put back as soon as that is possible, or then by: terrace doctor --clean\n"
        ));
    }
    let document = SizeDocument::of(&results, goal, endurance);
    let document = match simulation {
        Some(simulation) => simulation.beside(document, quiet)?,
        None => document,
    };
    match results.exit {
        None => outputs.show(&document, &text(&document)),
        Some(exit) => {
            // One that was asked to end has done what was asked for.
            let exit = match results.end {
                End::Time => Exit::Code(0),
                _ => exit,
            };
            outputs.say(&document, &text(&document), People::Error)?;
            exit.end_like()
        }
    }
}

/// The simulation of recordings, whose curve stands beside the measured one.
struct Simulation {
    traces: Vec<PathBuf>,
    machine: Option<Machine>,
}

impl Simulation {
    /// Opens what is simulated: hours of measuring shall not end in a file that cannot be read.
    fn of(arguments: &Size) -> Result<Option<Self>> {
        if arguments.trace.is_empty() {
            return Ok(None);
        }
        for path in &arguments.trace {
            Reading::default().open(path, Columns::ADDRESSES)?;
        }
        let machine = arguments.machine.as_deref().map(Machine::load);
        Ok(Some(Self {
            traces: arguments.trace.clone(),
            machine: machine.transpose()?,
        }))
    }

    /// Simulates at the sizes that were held, and puts that beside what was measured.
    fn beside(self, document: SizeDocument, quiet: bool) -> Result<SizeDocument> {
        if document.levels.is_empty() {
            return Ok(document);
        }
        let beside = Beside {
            machine: self.machine,
            epoch: None,
        };
        let given = Given::parse(&[("dram", &document.sizes())])?;
        let simulation = PageSimulation::new(given, Catalogue::builtin(), beside)?;
        let mut traces = Traces::new(&self.traces, Reading::default(), None);
        let bars = Bars::new(quiet);
        let found = simulate(simulation, &mut traces, &|event| bars.show(event))?;
        Ok(document.beside(traces.names(), &found))
    }
}
