//! The machines that are simulated: every option takes a list, and all combinations are run.

use std::path::{Path, PathBuf};

use clap::Args;
use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_sim::pages::setting::HEADING;
use terrace_sim::pages::{Grid, Machine, PageMachine};

use super::settings::Settings;

/// Lists of values of the settings, with commas; all their combinations are simulated.
#[derive(Args)]
pub struct Machines {
    #[command(flatten)]
    values: Settings<PageMachine>,

    /// A measured machine, of `terrace calibrate --machine`
    ///
    /// Its tier and its fault cost are used.
    #[arg(long, value_name = "FILE", help_heading = HEADING,
          conflicts_with_all = ["memory", "memories", "fault-cost"])]
    machine: Option<PathBuf>,

    /// A TOML file of memories of your own
    #[arg(long, value_name = "FILE", help_heading = HEADING, hide_short_help = true)]
    memories: Option<PathBuf>,
}

impl Machines {
    /// The files that are read, by the options that name them.
    pub fn files(&self) -> Vec<(&'static str, &Path)> {
        let machine = self.machine.as_deref().map(|path| ("--machine", path));
        let memories = self.memories.as_deref().map(|path| ("--memories", path));
        machine.into_iter().chain(memories).collect()
    }

    /// The memories that there are.
    pub fn catalogue(&self) -> Result<Catalogue> {
        catalogue(self.memories.as_deref())
    }

    /// All values of all settings.
    pub fn grid(&self) -> Result<Grid> {
        let grid = Grid::new(self.values.0.clone());
        match &self.machine {
            Some(path) => Ok(grid.measured(&Machine::load(path)?)),
            None => Ok(grid),
        }
    }
}

/// Returns the memories of a file of --memories beside the built-in ones.
///
/// # Errors
/// A failure where the file cannot be read.
pub fn catalogue(memories: Option<&Path>) -> Result<Catalogue> {
    memories.map_or_else(|| Ok(Catalogue::builtin()), Catalogue::load)
}
