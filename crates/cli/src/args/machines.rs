//! The machines that are simulated: every option takes a list, and all combinations are run.

use std::path::{Path, PathBuf};

use clap::Args;
use terrace_base::Result;
use terrace_base::apart::Named;
use terrace_device::Catalogue;
use terrace_sim::pages::options::HEADING;
use terrace_sim::pages::{Choice, Grid, Machine, PageMachine};

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
    /// Returns the files that are read besides `traces`, and these, by the options that name them.
    pub fn inputs<'a>(&'a self, traces: &'a [PathBuf]) -> Vec<Named<'a>> {
        let files = [("--machine", &self.machine), ("--memories", &self.memories)];
        let files = files.into_iter();
        let given = files.filter_map(|(option, path)| Some((option, path.as_deref()?)));
        let traces = traces.iter().map(|path| ("TRACE", &**path));
        given.chain(traces).collect()
    }

    /// Returns all combinations of the values of all settings.
    pub fn choices(&self) -> Result<Vec<Choice>> {
        let mut grid = Grid::new(self.values.0.clone());
        if let Some(path) = &self.machine {
            grid = grid.measured(&Machine::load(path)?);
        }
        grid.machines(&catalogue(self.memories.as_deref())?)
    }
}

/// Returns the memories of a file of --memories beside the built-in ones.
///
/// # Errors
/// A failure where the file cannot be read.
pub fn catalogue(memories: Option<&Path>) -> Result<Catalogue> {
    memories.map_or_else(|| Ok(Catalogue::builtin()), Catalogue::load)
}
