//! Grid of machines: all combinations of the values of all settings.

use terrace_base::{Bytes, Result, memory};
use terrace_device::Catalogue;

use super::choice::Choice;
use super::machine::Machine;
use super::options::VARY;
use super::setting::Set;
use super::settings::PageMachine;
use crate::setting::Given;

/// Memory of a machine without pages: its settings, its key in a sweep and its results
/// (measured: 14 KB in a sweep, 18 in one pass).
const MACHINE_BYTES: u64 = 20 << 10;

/// Memory of a page in a machine (measured: 24 bytes, with the policy `lru`).
const PAGE_ENTRY_BYTES: u64 = 32;

/// Checks that there is enough memory to simulate `machines` machines at once, with programs of
/// `footprint` pages.
///
/// # Errors
/// A failure that names the memory needed.
pub fn require_memory(machines: usize, footprint: u64) -> Result<()> {
    let bytes = footprint.saturating_mul(PAGE_ENTRY_BYTES) + MACHINE_BYTES;
    let bytes = Bytes(bytes.saturating_mul(machines as u64));
    let what = format!("simulating {machines} machines with {footprint} pages at once");
    memory::require(bytes, &what)
}

/// Values of all settings, whose combinations are the machines.
#[derive(Clone)]
pub struct Grid(Given<PageMachine>);

impl Grid {
    /// Makes the grid of these values; the setting that varies slowest comes first.
    pub fn new(mut given: Given<PageMachine>) -> Self {
        let place = |name: &str| VARY.split(' ').position(|known| known == name);
        given
            .0
            .sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
        Self(given)
    }

    /// Makes the grid of these values, each the name of a setting and a text as on the command
    /// line.
    ///
    /// # Errors
    /// A usage error if a text is no value of its setting, or there is no such setting.
    pub fn parse(values: &[(&str, &str)]) -> Result<Self> {
        Given::parse(values).map(Self::new)
    }

    /// Replaces the tier and the fault cost by those of a measured machine.
    #[must_use]
    pub fn measured(mut self, machine: &Machine) -> Self {
        let (tier, fault) = (machine.tier(), machine.fault.clone());
        let tier = Set::plain(move |machine| machine.tier = tier.clone());
        let fault = Set::plain(move |machine| machine.fault = fault.clone());
        for (name, sets) in &mut self.0.0 {
            match *name {
                "memory" => *sets = vec![tier.clone()],
                "fault-cost" => *sets = vec![fault.clone()],
                _ => {}
            }
        }
        self
    }

    /// Returns all combinations, the first setting slowest.
    ///
    /// # Errors
    /// A usage error if a memory is not in the catalogue or too little is known of it; a failure if
    /// there is not enough memory for the machines.
    pub fn machines(&self, catalogue: &Catalogue) -> Result<Vec<Choice>> {
        self.0.combinations(catalogue, MACHINE_BYTES)
    }
}
