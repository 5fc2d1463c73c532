//! The simulation of pages as it is asked for.

use terrace_base::{Error, Result};
use terrace_device::Catalogue;
use terrace_trace::Columns;
use terrace_trace::objects::Extent;

use super::choice::Choice;
use super::grid::{Grid, require_memory};
use super::machine::Machine;
use super::results::Simulated;
use super::run::watch as simulate;
use super::settings::PageMachine;
use super::survey::{Foresight, Survey};
use super::timeline::Point;
use crate::Simulation;
use crate::setting::{self, Given};
use crate::traces::Traces;
use crate::watch::{Event, Watch};
use crate::workload::Workload;

/// A simulation of pages.
pub struct PageSimulation {
    choices: Vec<Choice>,
    /// Prefetches of an epoch of the timeline; `None` for no timeline.
    epoch: Option<u64>,
}

/// What is asked of a simulation of pages beside its settings.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// A measured machine, whose tier and fault cost are used.
    pub machine: Option<Machine>,
    /// Prefetches of an epoch of the timeline; `None` for no timeline.
    pub epoch: Option<u64>,
}

/// A machine that was simulated, and its timeline.
pub type Watched = (Simulated, Vec<Point>);

impl PageSimulation {
    /// Returns the machines.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Surveys the programs, if some machine needs what that finds.
    fn survey(&self, traces: &Traces, watch: Watch) -> Result<Survey> {
        if !self.needs_survey() {
            return Ok(Survey::default());
        }
        let workload = Workload::of(traces, Columns::PAGES, "looking", watch)?;
        let done = |accesses| watch(Event::Done(accesses));
        let survey = Survey::of(workload, self.foresight(), done)?;
        if survey.footprint_pages == 0 {
            let names = traces.names().join(", ");
            return Err(Error::failure(format!("there is no access in {names}")));
        }
        Ok(survey)
    }

    fn needs_survey(&self) -> bool {
        self.foresight() > Foresight::Nothing || self.choices.iter().any(Choice::needs_footprint)
    }

    fn foresight(&self) -> Foresight {
        let foresight = self.choices.iter().map(Choice::foresight);
        foresight.max().unwrap_or_default()
    }
}

impl Simulation for PageSimulation {
    type Machine = PageMachine;
    type Beside = Beside;
    type Results = Vec<Watched>;

    const OBJECTS: Option<Extent> = Some(Extent::Unit);

    fn new(given: Given<PageMachine>, catalogue: Catalogue, beside: Beside) -> Result<Self> {
        let grid = Grid::new(given);
        let grid = match &beside.machine {
            Some(machine) => grid.measured(machine),
            None => grid,
        };
        Ok(Self {
            choices: grid.machines(&catalogue)?,
            epoch: beside.epoch,
        })
    }

    fn idle(&self, asked: &[&str]) -> Vec<String> {
        setting::idle(asked, self.choices.iter().map(|choice| &choice.machine))
    }

    fn columns(&self) -> Columns {
        columns(self.choices.iter().map(|choice| &choice.machine))
    }

    fn reads_again(&self, _: usize) -> bool {
        self.needs_survey()
    }

    fn run(self, traces: &Traces, watch: Watch) -> Result<Self::Results> {
        let survey = self.survey(traces, watch)?;
        require_memory(self.choices.len(), survey.footprint_pages)?;
        let choices = self.choices.iter();
        let machines = choices.map(|choice| choice.machine(survey.footprint_pages));
        let machines: Vec<PageMachine> = machines.collect::<Result<_>>()?;
        let workload = Workload::of(traces, self.columns(), "simulating", watch)?;
        let future = survey.future.as_ref();
        let done = |accesses| watch(Event::Done(accesses));
        let watched = simulate(workload, machines.clone(), future, self.epoch, done)?;
        let machines = self.choices.iter().zip(machines).zip(watched);
        let simulated = machines.map(|((choice, machine), (outcome, points))| {
            let dram = choice.dram();
            let simulated = Simulated {
                dram,
                machine,
                outcome,
            };
            (simulated, points)
        });
        Ok(simulated.collect())
    }
}

/// Returns the columns of traces that some of these machines need.
pub fn columns<'m>(machines: impl Iterator<Item = &'m PageMachine>) -> Columns {
    machines.fold(Columns::PAGES, |columns, machine| Columns {
        contents: columns.contents || machine.compares_contents(),
        zeros: columns.zeros || machine.drops_zeros(),
        ..columns
    })
}
