//! Arguments of the simulations of all levels.

use std::path::PathBuf;

use clap::Args;
use terrace_base::Result;
use terrace_base::apart::Named;
use terrace_base::count::parse_count;
use terrace_device::Catalogue;
use terrace_results::simulation::Reported;
use terrace_sim::Simulation;
use terrace_sim::traces::Traces;

use super::Results;
use super::reading::Reading;
use super::settings::{Settings, catalogue};
use crate::screen::say;
use crate::usage::with_options;

/// Where --quiet stands in the help: behind the options of a level, before --help.
const LAST: usize = 990;

/// Arguments that all levels have.
#[derive(Args)]
pub struct Common<S: Simulation> {
    #[command(flatten)]
    pub reading: Reading<S>,

    /// Simulate only the first accesses of each trace
    #[arg(long, value_name = "N", value_parser = parse_count, hide_short_help = true)]
    pub limit: Option<u64>,

    #[command(flatten)]
    pub settings: Settings<S::Machine>,

    #[command(flatten)]
    pub results: Results,

    /// No progress bar
    #[arg(short, long, display_order = LAST)]
    pub quiet: bool,
}

impl<S: Simulation> Common<S> {
    /// Returns the memories that can be named.
    fn catalogue(&self) -> Result<Catalogue> {
        catalogue(self.settings.memories.as_deref())
    }
}

/// Writes results to a file of their own.
pub type Write<R> = Box<dyn FnOnce(&R) -> Result<()>>;

/// Arguments of a command that simulates at one level.
pub trait Level {
    /// What is simulated.
    type Simulation: Reported;

    /// Whether pages have a heat map of each trace, whose addresses are those of memory.
    const HEAT: bool = false;

    /// Returns the names of the traces.
    fn traces(&self) -> &[PathBuf];

    /// Returns the arguments that all levels have.
    fn common(&self) -> &Common<Self::Simulation>;

    /// Returns what is asked beside the settings of machines.
    ///
    /// # Errors
    /// Errors of files that describe it.
    fn beside(&self) -> Result<<Self::Simulation as Simulation>::Beside>;

    /// Returns the files that are read beside traces and memories, by the options that name them.
    fn others_read(&self) -> Vec<Named<'_>> {
        Vec::new()
    }

    /// Returns the files that are written beside results, by the options that name them.
    fn others_written(&self) -> Vec<Named<'_>> {
        Vec::new()
    }

    /// Opens a file for results of its own.
    ///
    /// # Errors
    /// A failure where it cannot be written.
    fn open(&self) -> Result<Write<<Self::Simulation as Simulation>::Results>> {
        Ok(Box::new(|_| Ok(())))
    }

    /// Returns the simulation, and says which options change nothing.
    ///
    /// # Errors
    /// Errors of [`Level::beside`] and [`Simulation::new`]; a failure where the file of memories
    /// cannot be read.
    fn simulation(&self) -> Result<Self::Simulation> {
        let (common, beside) = (self.common(), self.beside()?);
        let settings = &common.settings;
        let simulation =
            Self::Simulation::new(settings.given.clone(), common.catalogue()?, beside)?;
        if !common.quiet {
            let idle = simulation.idle(&settings.asked).into_iter();
            idle.for_each(|sentence| say(&format!("terrace: {}\n", with_options(sentence))));
        }
        Ok(simulation)
    }

    /// Returns the traces and how they are read.
    fn opened(&self) -> Traces {
        let common = self.common();
        Traces::new(self.traces(), common.reading.how(), common.limit)
    }

    /// Returns the files that are read, by the options that name them.
    fn inputs(&self) -> Vec<Named<'_>> {
        let common = self.common();
        let memories = common.settings.memories.iter();
        let memories = memories.map(|path| ("--memories", &**path));
        let traces = self.traces().iter().map(|path| ("TRACE", &**path));
        let others = self.others_read().into_iter();
        others.chain(memories).chain(traces).collect()
    }
}
