//! `terrace sim files`.

use std::path::Path;
use std::process::ExitCode;

use terrace_base::Result;
use terrace_report::files::{FilesDocument, text};
use terrace_sim::{files, mix};

use crate::args::files::Files;
use crate::args::machines::catalogue;
use crate::progress::Progress;
use crate::results::Outputs;
use crate::traces::{Places, names};

pub fn files(arguments: &Files) -> Result<ExitCode> {
    let grid = arguments.grid();
    let traces = arguments.traces.iter().map(|path| ("TRACE", &**path));
    let memories = arguments.memories.iter();
    let inputs: Vec<(&str, &Path)> = traces
        .chain(memories.map(|path| ("--memories", &**path)))
        .collect();
    let outputs = Outputs::open(&arguments.results, &inputs, &[])?;
    let catalogue = catalogue(arguments.memories.as_deref())?;
    let places = Places::kept(&arguments.traces, arguments.quiet)?;
    let reading = arguments.reading.objects();
    let traces = mix::files(places.paths(), &reading)?;
    let machines = grid.machines(&catalogue)?;
    let accesses = files::accesses(&traces, arguments.limit)?;
    let total = accesses.map(|accesses| accesses.saturating_mul(machines.len() as u64));
    let progress = Progress::new(total, arguments.quiet).doing("simulating");
    let simulated = files::run(machines, &traces, arguments.limit, |served| {
        progress.at(served);
    })?;
    drop(progress);
    let (names, text) = (names(&arguments.traces), text(&simulated));
    let counted = places.counted(&arguments.traces, &reading.tallies, arguments.quiet);
    outputs.show(&FilesDocument::new(names, counted, simulated), &text)
}
