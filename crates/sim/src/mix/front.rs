//! The simulation of tasks that take turns as it is asked for.

use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_trace::Columns;
use terrace_trace::objects::Extent;

use super::grid::Grid;
use super::outcome::Simulated;
use super::run::{files, run};
use crate::Simulation;
use crate::setting::Given;
use crate::traces::Traces;
use crate::watch::{Amount, Event, Part, Watch};

/// A simulation of tasks that take turns.
pub struct MixSimulation {
    grid: Grid,
    catalogue: Catalogue,
}

impl Simulation for MixSimulation {
    type Machine = Grid;
    type Beside = ();
    type Results = Simulated;

    const OBJECTS: Option<Extent> = None;

    fn new(given: Given<Grid>, catalogue: Catalogue, (): ()) -> Result<Self> {
        let grid = Grid::new(&given)?;
        Ok(Self { grid, catalogue })
    }

    fn columns(&self) -> Columns {
        Columns::ALL
    }

    /// Each machine reads them, and tasks begin their traces again.
    fn reads_again(&self, _: usize) -> bool {
        true
    }

    fn run(self, traces: &Traces, watch: Watch) -> Result<Simulated> {
        let opened = files(traces.places(), &traces.reading, self.columns())?;
        let tasks = self.grid.tasks(opened.len())?;
        let machines = self.grid.machines(&self.catalogue, tasks)?;
        let times = machines.iter().map(|machine| machine.warmup + machine.time);
        watch(Event::Begins(Part {
            name: "simulating",
            amount: Amount::Time(times.sum()),
        }));
        let done = |time| watch(Event::Done(time));
        run(machines, &opened, tasks, traces.limit, done)
    }
}
