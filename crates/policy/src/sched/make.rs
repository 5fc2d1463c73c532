//! Constructors of turn policies, and their entries and specifications in the registry.

use std::time::Duration;

use super::Turns;
use crate::params::Params;
use crate::registry;

/// What policies know of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Lines of the last-level cache.
    pub lines: u64,
    /// Time that a miss of it takes a task.
    pub miss: Duration,
    /// Time that a switch between tasks takes, without misses.
    pub switch: Duration,
}

impl Default for Machine {
    /// The machine of Fedorov 2016, 3.1 and 3.4.1: 16 MB, 200 cycles at 2 GHz; the time of a switch
    /// is assumed.
    fn default() -> Self {
        Self {
            lines: (16 << 20) / 64,
            miss: Duration::from_nanos(100),
            switch: Duration::from_micros(3),
        }
    }
}

/// A new policy, `None` where the driver changes nothing, or a message about one of its settings.
pub type Made = Result<Option<Box<dyn Turns>>, String>;

/// Constructor of a policy for a machine.
#[derive(Clone, Copy)]
pub struct Make(pub &'static (dyn Fn(&Machine, &mut Params) -> Made + Send + Sync));

/// A policy in the registry.
pub type Entry = registry::Entry<Make>;

/// A policy with its settings: `static:turn=30ms`.
pub type Spec = registry::Spec<Make>;

impl Spec {
    /// Makes the policy for a machine; `None` where the driver changes nothing.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn policy(&self, machine: &Machine) -> Made {
        self.make(|make, params| make.0(machine, params))
    }
}
