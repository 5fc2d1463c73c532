//! `terrace sim`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use terrace_base::{Error, Result};
use terrace_report::sim::{Document, Run, Simulated, text};
use terrace_sim::pages::{Choice, Foresight, Settings, Survey, run};
use terrace_sim::workload::Workload;
use terrace_trace::{Columns, Format, Source, ahead, open_in};

use crate::args::sim::{Command, Pages, Sim};
use crate::progress::Progress;

pub fn sim(arguments: &Sim) -> Result<ExitCode> {
    match &arguments.command {
        Command::Pages(arguments) => pages(arguments),
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
    let outcomes = run(
        workload,
        settings.clone(),
        survey.future.as_ref(),
        |accesses| {
            progress.at(accesses);
        },
    );
    drop(progress);
    let runs = settings
        .iter()
        .zip(outcomes?)
        .map(|(settings, outcome)| Run::of(settings, &outcome));
    let text = if arguments.json {
        Document::new(traces.names(), runs.collect()).to_json()
    } else {
        let simulated = choices.iter().zip(runs);
        let simulated = simulated.map(|(choice, run)| Simulated {
            dram: choice.dram(),
            run,
        });
        text(&simulated.collect::<Vec<_>>())
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
