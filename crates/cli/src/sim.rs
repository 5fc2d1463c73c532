//! `terrace sim`.

use std::process::ExitCode;

use terrace_base::Result;
use terrace_report::simulation::Reported;
use terrace_sim::simulate;

use crate::args::level::Level;
use crate::args::sim::{Command, Sim};
use crate::counted::counted;
use crate::llc::llc;
use crate::progress::Bars;
use crate::results::Outputs;

pub fn sim(arguments: &Sim) -> Result<ExitCode> {
    match &arguments.command {
        Command::Pages(arguments) => level(&**arguments),
        Command::Llc(arguments) => llc(arguments),
        Command::Mix(arguments) => level(&**arguments),
        Command::Files(arguments) => level(&**arguments),
        Command::Curve(arguments) => level(&**arguments),
    }
}

/// Simulates the programs of traces at one level.
pub fn level<L: Level>(arguments: &L) -> Result<ExitCode> {
    let (simulation, common) = (arguments.simulation()?, arguments.common());
    let (inputs, written) = (arguments.inputs(), arguments.others_written());
    // Opened first: a long simulation shall not end in a path that cannot be written.
    let outputs = Outputs::open(&common.results, &inputs, &written)?;
    let write = arguments.open()?;
    let mut traces = arguments.opened();
    let bars = Bars::new(common.quiet);
    let results = simulate(simulation, &mut traces, &|event| bars.show(event))?;
    drop(bars);
    write(&results)?;
    let counted = counted(traces.named_places(), &traces.reading.tallies, common.quiet);
    let document = L::Simulation::document(traces.names(), counted, results);
    outputs.show(&document, &L::Simulation::text(&document))
}
