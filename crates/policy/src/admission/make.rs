//! Constructors of admission policies, and their entries and specifications in the registry.

use super::Admission;
use crate::params::Params;
use crate::registry;

/// What policies know of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Pages that the flash holds.
    pub flash: u64,
    /// Pages that can lie in DRAM between their read and the question whether they are wanted; 0 if
    /// a driver asks with each read.
    pub dram: u64,
}

impl Default for Machine {
    /// A gibibyte of flash that is asked with each read.
    fn default() -> Self {
        Self {
            flash: 1 << 18,
            dram: 0,
        }
    }
}

/// A new policy, or a message about one of its settings.
pub type Made = Result<Box<dyn Admission>, String>;

/// Constructor of a policy for a machine.
#[derive(Clone, Copy)]
pub struct Make(pub &'static (dyn Fn(&Machine, &mut Params) -> Made + Send + Sync));

/// A policy in the registry.
pub type Entry = registry::Entry<Make>;

/// A policy with its settings: `sketch:reads=3`.
pub type Spec = registry::Spec<Make>;

impl Spec {
    /// Makes the policy for a machine.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn policy(&self, machine: &Machine) -> Made {
        self.make(|make, params| make.0(machine, params))
    }
}
