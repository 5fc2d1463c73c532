//! Values for every setting; the machines are all combinations.

use std::collections::HashSet;

use terrace_base::Result;
use terrace_device::Catalogue;

use super::settings::FilesMachine;
use crate::setting::Given;

/// Memory of a machine without pages.
const MACHINE_BYTES: u64 = 64 << 10;

/// Values of all settings, the one that varies slowest first.
#[derive(Clone)]
pub struct Grid(Given<FilesMachine>);

impl Grid {
    /// Makes the grid of these values.
    pub fn new(given: Given<FilesMachine>) -> Self {
        Self(given)
    }

    /// Returns all combinations.
    ///
    /// # Errors
    /// A usage error if a memory is not in the catalogue, or a machine cannot be simulated; a
    /// failure if there is not enough memory for the machines.
    pub fn machines(&self, catalogue: &Catalogue) -> Result<Vec<FilesMachine>> {
        let machines = self.0.combinations(catalogue, MACHINE_BYTES)?;
        machines.iter().try_for_each(FilesMachine::check)?;
        Ok(without_repeats(machines))
    }
}

/// Returns the machines without those that admit all pages to no flash, where the same machine is
/// there before: it does not matter there, and nobody may have asked for both.
fn without_repeats(machines: Vec<FilesMachine>) -> Vec<FilesMachine> {
    let mut seen = HashSet::new();
    let is_new = |machine: &FilesMachine| {
        if machine.flash_pages > 0 {
            return true;
        }
        let any = FilesMachine {
            admission: FilesMachine::default().admission,
            ..machine.clone()
        };
        seen.insert(format!("{any:?}")) || machine.admission.to_string() != "all"
    };
    machines.into_iter().filter(is_new).collect()
}
