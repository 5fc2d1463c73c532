//! The simulations of all levels.

use std::process::ExitCode;

use terrace_base::Result;
use terrace_results::simulation::Reported;
use terrace_sim::simulate;

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
    let results = simulate(simulation, &mut traces, &|event| bars.show(event))?;
    drop(bars);
    write(&results)?;
    let counted = counted(traces.named_places(), &traces.reading.tallies, common.quiet);
    let document = L::Simulation::document(traces.names(), counted, results);
    outputs.show(&document, &L::Simulation::text(&document))
}
