//! What the simulations of all levels have in common: how one is asked, what it reads, and how it
//! runs.

use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_trace::Columns;
use terrace_trace::objects::Extent;

use crate::setting::{Given, Machine};
use crate::traces::Traces;
use crate::watch::Watch;

/// A simulation of programs at one level, as it was asked for.
pub trait Simulation: Sized + 'static {
    /// Machines that its settings describe.
    type Machine: Machine;
    /// What is asked beside the settings of machines.
    type Beside;
    /// What was found.
    type Results;

    /// Pages of an object, where addresses can be names of objects.
    const OBJECTS: Option<Extent>;

    /// Makes a simulation of the machines that these values describe.
    ///
    /// # Errors
    /// A usage error where a value is not known, or the machines cannot be simulated; a failure
    /// where there is not enough memory for them.
    fn new(given: Given<Self::Machine>, catalogue: Catalogue, beside: Self::Beside)
    -> Result<Self>;

    /// Returns a sentence for each of the `asked` settings that changes nothing on any of the
    /// machines.
    fn idle(&self, _asked: &[&str]) -> Vec<String> {
        Vec::new()
    }

    /// Returns the columns of traces that it needs.
    fn columns(&self) -> Columns;

    /// Returns whether it reads its `traces` traces more than once.
    fn reads_again(&self, traces: usize) -> bool;

    /// Simulates the programs of these traces.
    ///
    /// # Errors
    /// Errors of the traces; a usage error where the machines cannot be simulated with them; a
    /// failure where there is no access, or not enough memory.
    fn run(self, traces: &Traces, watch: Watch) -> Result<Self::Results>;
}

/// Simulates the programs of these traces. Traces that come through pipes are kept before, where
/// they are read more than once.
///
/// # Errors
/// Errors of [`Simulation::run`], and of traces that cannot be kept.
pub fn simulate<S: Simulation>(
    simulation: S,
    traces: &mut Traces,
    watch: Watch,
) -> Result<S::Results> {
    if simulation.reads_again(traces.named().len()) {
        traces.keep(watch)?;
    }
    simulation.run(traces, watch)
}
