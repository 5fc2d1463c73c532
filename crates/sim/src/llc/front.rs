//! The simulation of last-level caches as it is asked for.

use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_trace::objects::Extent;
use terrace_trace::{Columns, Source};

use super::grid::{self, Grid};
use super::mix::Mix;
use super::outputs::{Outputs, Unkept, simulate};
use super::settings::LlcMachine;
use super::simulated::Simulated;
use crate::Simulation;
use crate::setting::Given;
use crate::traces::Traces;
use crate::watch::{Event, Watch};

/// A simulation of last-level caches.
pub struct LlcSimulation {
    grid: Grid,
    catalogue: Catalogue,
    outputs: Outputs,
}

impl Simulation for LlcSimulation {
    type Machine = Grid;
    /// Trace files that are written.
    type Beside = Outputs;
    /// The hierarchy, and what the trace files that were written do not say.
    type Results = (Simulated, Vec<Unkept>);

    const OBJECTS: Option<Extent> = None;

    fn new(given: Given<Grid>, catalogue: Catalogue, outputs: Outputs) -> Result<Self> {
        let grid = Grid::new(&given, outputs.traffic.is_some())?;
        grid.machine.check_requests(outputs.requests.is_some())?;
        Ok(Self {
            grid,
            catalogue,
            outputs,
        })
    }

    fn columns(&self) -> Columns {
        let writes_requests = self.outputs.requests.is_some() || self.outputs.traffic.is_some();
        self.grid.columns(writes_requests)
    }

    /// Of several traces, those that end first begin again.
    fn reads_again(&self, traces: usize) -> bool {
        traces > 1
    }

    fn run(self, traces: &Traces, watch: Watch) -> Result<Self::Results> {
        let (columns, cores) = (self.columns(), self.grid.cores());
        let mix = Mix::open(
            traces.places(),
            &traces.reading,
            columns,
            cores,
            traces.limit,
        )?;
        let machine = self.grid.settings(&self.catalogue, mix.extent())?;
        pass(machine, mix, &self.outputs, watch)
    }
}

impl LlcSimulation {
    /// Makes the simulation of one program while it runs.
    ///
    /// # Errors
    /// A usage error where a memory is not in the catalogue, or the settings cannot be simulated.
    pub fn beside_a_program(self) -> Result<BesideProgram> {
        let extent = grid::Extent {
            programs: 1,
            cores: self.grid.cores().unwrap_or(1),
            accesses: None,
        };
        Ok(BesideProgram {
            machine: self.grid.settings(&self.catalogue, extent)?,
            cores: extent.cores,
            outputs: self.outputs,
        })
    }
}

/// A simulation of last-level caches beside a program that runs.
pub struct BesideProgram {
    machine: LlcMachine,
    cores: usize,
    outputs: Outputs,
}

impl BesideProgram {
    /// Simulates the program of this name, whose accesses come from `source`.
    ///
    /// # Errors
    /// Errors of [`LlcSimulation::run`].
    pub fn run(
        self,
        name: String,
        source: Box<dyn Source>,
        watch: Watch,
    ) -> Result<(Simulated, Vec<Unkept>)> {
        let mix = Mix::single(name, source, self.cores)?;
        pass(self.machine, mix, &self.outputs, watch)
    }
}

/// Simulates the programs of a mix.
fn pass(
    machine: LlcMachine,
    mix: Mix,
    outputs: &Outputs,
    watch: Watch,
) -> Result<(Simulated, Vec<Unkept>)> {
    watch(Event::begins("simulating", mix.accesses()));
    let done = |accesses| watch(Event::Done(accesses));
    let (pass, unkept) = simulate(&machine, mix, outputs, done)?;
    for one in &unkept {
        let (file, lost) = (&*one.path, &one.lost[..]);
        watch(Event::Lost { file, lost });
    }
    Ok((Simulated { machine, pass }, unkept))
}
