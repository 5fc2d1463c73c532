//! `terrace sim mix`.

use std::path::Path;
use std::process::ExitCode;

use terrace_base::Result;
use terrace_report::mix::{MixDocument, text};
use terrace_sim::mix;

use crate::args::machines::catalogue;
use crate::args::mix::Mix;
use crate::progress::Progress;
use crate::results::Outputs;
use crate::traces::{Places, names};

pub fn mix(arguments: &Mix) -> Result<ExitCode> {
    let grid = arguments.grid()?;
    let traces = arguments.traces.iter().map(|path| ("TRACE", &**path));
    let memories = arguments.memories.iter();
    let inputs: Vec<(&str, &Path)> = traces
        .chain(memories.map(|path| ("--memories", &**path)))
        .collect();
    let outputs = Outputs::open(&arguments.results, &inputs, &[])?;
    let catalogue = catalogue(arguments.memories.as_deref())?;
    let places = Places::kept(&arguments.traces, arguments.quiet)?;
    let reading = arguments.places.reading();
    let traces = mix::files(places.paths(), &reading)?;
    let tasks = grid.tasks(traces.len())?;
    let machines = grid.machines(&catalogue, tasks)?;
    let time = machines
        .iter()
        .map(|machine| (machine.warmup + machine.time).0);
    let progress = Progress::of_time(time.sum(), arguments.quiet).doing("simulating");
    let simulated = mix::run(machines, &traces, tasks, arguments.limit, |time| {
        progress.at(time);
    })?;
    drop(progress);
    let (names, text) = (names(&arguments.traces), text(&simulated));
    let counted = places.counted(&arguments.traces, &reading.tallies, arguments.quiet);
    outputs.show(&MixDocument::new(names, counted, simulated), &text)
}
