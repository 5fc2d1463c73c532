//! Constructors of migration policies, and their entries and specifications in the registry.

use std::time::Duration;

use super::Migration;
use crate::params::Params;
use crate::registry;

/// What moves cost the program, and what they save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Time that an access that reads slow memory takes longer than one to fast memory, in
    /// picoseconds.
    pub line_ps: u64,
    /// The same of an access that writes.
    pub written_line_ps: u64,
    /// A page that goes to fast memory.
    pub promotion: Duration,
    /// A page that goes to slow memory.
    pub demotion: Duration,
    /// All pages that move at the same moment, beside what each of them costs.
    pub batch: Duration,
    /// An access that the policy sees ([`Migration::every`]).
    pub sample: Duration,
}

/// A new policy; `None` if slow memory serves no lines and each page in use has to be in fast
/// memory.
pub type Made = Result<Option<Box<dyn Migration>>, String>;

/// Constructor of a policy for a fast memory of this number of pages.
#[derive(Clone, Copy)]
pub struct Make(pub &'static (dyn Fn(usize, &mut Params) -> Made + Send + Sync));

/// A policy in the registry.
pub type Entry = registry::Entry<Make>;

/// A policy with its settings: `hot:threshold=100ms`.
pub type Spec = registry::Spec<Make>;

impl Spec {
    /// Makes the policy for a fast memory of `fast` pages.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn policy(&self, fast: usize) -> Made {
        self.make(|make, params| make.0(fast, params))
    }

    /// Whether slow memory serves lines under this policy.
    pub fn bypasses(&self) -> bool {
        self.entry().name != super::fault::ENTRY.name
    }
}
