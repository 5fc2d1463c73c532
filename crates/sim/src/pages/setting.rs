//! Settings of the machines that `sim pages` and `sweep` simulate.

use super::settings::PageMachine;
use crate::setting;

pub use setting::Values;

/// One value of a setting.
pub type Set = setting::Set<PageMachine>;

/// A setting with its option and its fields in results.
pub type Setting = setting::Setting<PageMachine>;
