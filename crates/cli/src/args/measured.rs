//! A measured machine, in place of a memory and a fault cost.

use std::path::PathBuf;

use clap::Args;
use terrace_base::Result;
use terrace_base::apart::Named;
use terrace_sim::pages::Machine;
use terrace_sim::pages::options::HEADING;

/// A measured machine.
#[derive(Args)]
pub struct Measured {
    /// A measured machine, of `terrace calibrate --machine`
    ///
    /// Its tier and its fault cost are used.
    #[arg(long, value_name = "FILE", help_heading = HEADING,
          conflicts_with_all = ["memory", "memories", "fault-cost"])]
    machine: Option<PathBuf>,
}

impl Measured {
    /// Returns the machine, if one was named.
    ///
    /// # Errors
    /// Errors of [`Machine::load`].
    pub fn machine(&self) -> Result<Option<Machine>> {
        self.machine.as_deref().map(Machine::load).transpose()
    }

    /// Returns the file, by its option.
    pub fn inputs(&self) -> Vec<Named<'_>> {
        let machine = self.machine.iter();
        machine.map(|path| ("--machine", &**path)).collect()
    }
}
