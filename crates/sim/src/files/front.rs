//! The simulation of a page cache, flash and a disk as it is asked for.

use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_trace::Columns;
use terrace_trace::objects::Extent;

use super::grid::Grid;
use super::outcome::Simulated;
use super::run::{accesses, run};
use super::settings::FilesMachine;
use crate::Simulation;
use crate::mix;
use crate::setting::Given;
use crate::traces::Traces;
use crate::watch::{Event, Watch};

/// A simulation of a page cache, flash and a disk.
pub struct FilesSimulation {
    grid: Grid,
    catalogue: Catalogue,
}

impl Simulation for FilesSimulation {
    type Machine = FilesMachine;
    type Beside = ();
    type Results = Simulated;

    const OBJECTS: Option<Extent> = Some(Extent::Sized);

    fn new(given: Given<FilesMachine>, catalogue: Catalogue, (): ()) -> Result<Self> {
        let grid = Grid::new(given);
        Ok(Self { grid, catalogue })
    }

    fn columns(&self) -> Columns {
        Columns::ALL
    }

    /// Each machine reads them.
    fn reads_again(&self, _: usize) -> bool {
        true
    }

    fn run(self, traces: &Traces, watch: Watch) -> Result<Simulated> {
        let opened = mix::files(traces.places(), &traces.reading, self.columns())?;
        let machines = self.grid.machines(&self.catalogue)?;
        let accesses = accesses(&opened, traces.limit)?;
        let all = accesses.map(|accesses| accesses.saturating_mul(machines.len() as u64));
        watch(Event::begins("simulating", all));
        run(machines, &opened, traces.limit, |served| {
            watch(Event::Done(served))
        })
    }
}
