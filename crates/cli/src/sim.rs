//! `terrace sim`.

use std::process::ExitCode;

use terrace_base::{Error, Output, Result};
use terrace_report::sim::{PagesDocument, text};
use terrace_report::timeline;
use terrace_sim::pages::{
    Choice, Foresight, PageMachine, Point, Simulated, Survey, require_memory, watch,
};
use terrace_trace::Columns;

use crate::args::sim::{Command, Pages, Sim};
use crate::curve::curve;
use crate::files::files;
use crate::llc::llc;
use crate::mix::mix;
use crate::results::Outputs;
use crate::traces::Traces;

pub fn sim(arguments: &Sim) -> Result<ExitCode> {
    match &arguments.command {
        Command::Pages(arguments) => pages(arguments),
        Command::Llc(arguments) => llc(arguments),
        Command::Mix(arguments) => mix(arguments),
        Command::Files(arguments) => files(arguments),
        Command::Curve(arguments) => curve(arguments),
    }
}

fn pages(arguments: &Pages) -> Result<ExitCode> {
    let choices = arguments.machines.choices()?;
    let inputs = arguments.machines.inputs(&arguments.traces);
    let timeline = arguments.timeline.as_deref();
    let others = Vec::from_iter(timeline.map(|path| ("--timeline", path)));
    let outputs = Outputs::open(&arguments.results, &inputs, &others)?;
    // Opened first: a long simulation shall not end in a path that cannot be written.
    let timeline = timeline.map(Output::create).transpose()?;
    let mut traces = Traces::new(
        &arguments.traces,
        arguments.reading.units(),
        arguments.limit,
        arguments.quiet,
    );
    let survey = survey(&mut traces, &choices)?;
    require_memory(choices.len(), survey.footprint_pages)?;
    let settings = choices
        .iter()
        .map(|choice| choice.machine(survey.footprint_pages));
    let settings: Vec<PageMachine> = settings.collect::<Result<_>>()?;
    let contents = settings.iter().any(|machine| machine.writing.is_asked());
    let columns = Columns {
        contents,
        zeros: settings.iter().any(PageMachine::drops_zeros),
        ..Columns::PAGES
    };
    let (workload, progress) = traces.open("simulating", columns)?;
    let every = timeline.as_ref().map(|_| arguments.timeline_epoch);
    let future = survey.future.as_ref();
    let at = |accesses| progress.at(accesses);
    let watched = watch(workload, settings.clone(), future, every, at);
    drop(progress);
    let machines = choices.iter().zip(&settings).zip(watched?);
    let machines: Vec<(Simulated, Vec<Point>)> = machines
        .map(|((choice, machine), (outcome, points))| {
            let simulated = Simulated {
                dram: choice.dram(),
                machine: machine.clone(),
                outcome,
            };
            (simulated, points)
        })
        .collect();
    if let Some(output) = timeline {
        output.finish(timeline::csv(&machines)?.as_ref())?;
    }
    let simulated: Vec<Simulated> = machines.into_iter().map(|(machine, _)| machine).collect();
    let text = text(&simulated);
    let document = PagesDocument::new(traces.names(), traces.counted(), simulated);
    outputs.show(&document, &text)
}

/// A first pass over the traces, if some machine needs what it finds.
fn survey(traces: &mut Traces, choices: &[Choice]) -> Result<Survey> {
    let foresight = choices.iter().map(Choice::foresight);
    let foresight = foresight.max().unwrap_or_default();
    if foresight == Foresight::Nothing && !choices.iter().any(Choice::needs_footprint) {
        return Ok(Survey::default());
    }
    traces.keep()?;
    let (workload, progress) = traces.open("looking", Columns::PAGES)?;
    let survey = Survey::of(workload, foresight, |accesses| progress.at(accesses))?;
    if survey.footprint_pages == 0 {
        return Err(Error::failure(format!(
            "there is no access in {}",
            traces.names().join(", ")
        )));
    }
    Ok(survey)
}
