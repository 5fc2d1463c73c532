//! Settings of the machines that `sim pages` and `sweep` simulate.

use terrace_device::Catalogue;

use super::choice::Choice;
use super::options::settings;
use super::settings::PageMachine;
use crate::setting::{self, Machine};

pub use setting::Values;

/// One value of a setting.
pub type Set = setting::Set<PageMachine>;

/// A setting with its option and its fields in results.
pub type Setting = setting::Setting<PageMachine>;

/// Heading of the options.
pub const HEADING: &str = "Machine (each takes a list: a,b,c)";

impl Machine for PageMachine {
    type Choice = Choice;
    type Known = Catalogue;
    type Record = Self;

    fn of(choice: &mut Choice) -> &mut Self {
        &mut choice.machine
    }

    fn settings() -> Vec<(Option<&'static str>, Vec<Setting>)> {
        vec![(Some(HEADING), settings())]
    }
}
