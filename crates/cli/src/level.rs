//! The simulations of all levels.

use std::process::ExitCode;

use terrace_base::Result;
use terrace_results::heat;
use terrace_results::html::Plot;
use terrace_results::simulation::Reported;
use terrace_sim::simulate;
use terrace_sim::traces::Traces;
use terrace_trace::heat::Heat;
use terrace_trace::tally::Tallies;
use terrace_trace::{Columns, Reading};

use crate::args::level::Level;
use crate::counted::counted;
use crate::progress::Bars;
use crate::results::Outputs;

/// Simulates the programs of traces at one level.
pub fn level<L: Level>(arguments: &L) -> Result<ExitCode> {
    let (simulation, common) = (arguments.simulation()?, arguments.common());
    let (inputs, written) = (arguments.inputs(), arguments.others_written());
    // Opened first: a long simulation shall not end in a path that cannot be written.
    let outputs = Outputs::open(&common.results, &inputs, &written)?;
    let write = arguments.open()?;
    let mut traces = arguments.opened();
    let bars = Bars::new(common.quiet);
    let draws_heat = L::HEAT && outputs.draws();
    if draws_heat {
        traces.keep(&|event| bars.show(event))?;
    }
    let results = simulate(simulation, &mut traces, &|event| bars.show(event))?;
    drop(bars);
    write(&results)?;
    let counted = counted(traces.named_places(), &traces.reading.tallies, common.quiet);
    let outputs = match draws_heat {
        true => outputs.with_heat(heat_of(&traces)?),
        false => outputs,
    };
    let document = L::Simulation::document(traces.names(), counted, results);
    outputs.show(&document, &L::Simulation::text(&document))
}

/// Reads the traces once more, and returns a heat map of each.
fn heat_of(traces: &Traces) -> Result<Vec<Plot>> {
    let several = traces.named().len() > 1;
    // What was left out or cut is counted once.
    let reading = Reading {
        tallies: Tallies::default(),
        ..traces.reading.clone()
    };
    let plots = traces.named_places().map(|(name, place)| {
        let mut source = reading.open(place, Columns::ADDRESSES)?;
        let heat = Heat::of(&mut *source, traces.limit)?;
        let title = match several {
            true => format!("Heat map of {}", name.display()),
            false => "Heat map".to_owned(),
        };
        Ok(heat::plot(&title, &heat))
    });
    plots.collect()
}
