//! `terrace sim curve`.

use std::path::Path;
use std::process::ExitCode;

use terrace_base::Result;
use terrace_report::curve::{CurveDocument, text};
use terrace_sim::curve::Gathered;
use terrace_trace::Columns;

use crate::args::curve::Curve;
use crate::progress::Progress;
use crate::results::Outputs;
use crate::traces::Traces;

/// Curves need no instruction counts.
const COLUMNS: Columns = Columns {
    instruction: false,
    ..Columns::PAGES
};

pub fn curve(arguments: &Curve) -> Result<ExitCode> {
    let settings = arguments.settings()?;
    let inputs = arguments.traces.iter().map(|path| ("TRACE", &**path));
    let inputs: Vec<(&str, &Path)> = inputs.collect();
    let outputs = Outputs::open(&arguments.results, &inputs, &[])?;
    let traces = Traces::new(
        &arguments.traces,
        arguments.reading.units(),
        arguments.limit,
        arguments.quiet,
    );
    let (workload, progress) = traces.open("reading", COLUMNS)?;
    let gathered = Gathered::read(workload, settings, |accesses| progress.at(accesses))?;
    drop(progress);
    let progress = Progress::new(Some(gathered.simulated()), arguments.quiet).doing("simulating");
    let curves = gathered.curves(|touches| progress.at(touches))?;
    drop(progress);
    let text = text(&curves);
    let document = CurveDocument::new(traces.names(), traces.counted(), curves);
    outputs.show(&document, &text)
}
