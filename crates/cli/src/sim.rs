//! `terrace sim`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use terrace_base::{Context, Error, Result};
use terrace_report::sim::{Document, Run, Simulated, text};
use terrace_report::timeline;
use terrace_sim::pages::{Choice, Foresight, Point, Settings, Survey, watch};
use terrace_sim::workload::Workload;
use terrace_trace::{Columns, Format, Source, ahead, open_in};

use crate::args::sim::{Command, Pages, Sim};
use crate::llc::llc;
use crate::progress::Progress;

pub fn sim(arguments: &Sim) -> Result<ExitCode> {
    match &arguments.command {
        Command::Pages(arguments) => pages(arguments),
        Command::Llc(arguments) => llc(arguments),
    }
}

fn pages(arguments: &Pages) -> Result<ExitCode> {
    let choices = arguments
        .machines
        .grid()?
        .machines(&arguments.machines.catalogue()?)?;
    let traces = Traces {
        paths: &arguments.traces,
        format: arguments.format,
        limit: arguments.limit,
        quiet: arguments.quiet,
    };
    let survey = survey(&traces, &choices)?;
    let settings = choices
        .iter()
        .map(|choice| choice.settings(survey.footprint_pages));
    let settings: Vec<Settings> = settings.collect::<Result<_>>()?;
    let (workload, progress) = traces.open("simulating")?;
    let every = arguments
        .timeline
        .as_ref()
        .map(|_| arguments.timeline_epoch);
    let future = survey.future.as_ref();
    let at = |accesses| progress.at(accesses);
    let watched = watch(workload, settings.clone(), future, every, at);
    drop(progress);
    let machines = choices.iter().zip(&settings).zip(watched?);
    let machines: Vec<(Simulated, Vec<Point>)> = machines
        .map(|((choice, settings), (outcome, points))| {
            let dram = choice.dram();
            let run = Run::of(settings, &outcome);
            (Simulated { dram, run }, points)
        })
        .collect();
    if let Some(path) = &arguments.timeline {
        let cannot = || format!("cannot write the timeline `{}`", path.display());
        std::fs::write(path, timeline::csv(&machines)?).or_fail(cannot)?;
    }
    let simulated: Vec<Simulated> = machines.into_iter().map(|(machine, _)| machine).collect();
    let text = if arguments.json {
        let runs = simulated.into_iter().map(|machine| machine.run);
        Document::new(traces.names(), runs.collect()).to_json()
    } else {
        text(&simulated)
    };
    // Whoever reads only the first lines has read what they wanted.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

/// The traces of one workload.
pub struct Traces<'a> {
    pub paths: &'a [PathBuf],
    pub format: Option<Format>,
    pub limit: Option<u64>,
    pub quiet: bool,
}

impl Traces<'_> {
    /// Opens them, and a progress bar for what is done with them.
    pub fn open(&self, what: &'static str) -> Result<(Workload, Progress)> {
        let sources = self.paths.iter().map(|path| self.source(path));
        let sources: Vec<_> = sources.collect::<Result<_>>()?;
        let total: Option<u64> = sources.iter().map(|source| source.meta().accesses).sum();
        let most = self
            .limit
            .map(|limit| limit.saturating_mul(sources.len() as u64));
        let total = match (total, most) {
            (Some(total), Some(most)) => Some(total.min(most)),
            (total, _) => total,
        };
        let progress = Progress::new(total, self.quiet).doing(what);
        Ok((Workload::new(sources, self.limit)?, progress))
    }

    fn source(&self, path: &Path) -> Result<Box<dyn Source>> {
        open_in(path, self.format, Columns::PAGES).map(ahead)
    }

    /// As they were named.
    pub fn names(&self) -> Vec<String> {
        self.paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }
}

/// A first pass over the traces, if some machine needs what it finds.
pub fn survey(traces: &Traces, choices: &[Choice]) -> Result<Survey> {
    let foresight = choices.iter().map(Choice::foresight);
    let foresight = foresight.max().unwrap_or_default();
    if foresight == Foresight::Nothing && !choices.iter().any(Choice::needs_footprint) {
        return Ok(Survey::default());
    }
    let (workload, progress) = traces.open("looking")?;
    let survey = Survey::of(workload, foresight, |accesses| progress.at(accesses))?;
    if survey.footprint_pages == 0 {
        return Err(Error::failure(format!(
            "there is no access in {}",
            traces.names().join(", ")
        )));
    }
    Ok(survey)
}
