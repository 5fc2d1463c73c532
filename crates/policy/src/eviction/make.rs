//! Constructors of eviction policies, and their entries and specifications in the registry.

use super::Eviction;
use crate::params::Params;
use crate::registry;

/// A new policy, `None` for the memory's own choice alone, or a message about one of its settings.
pub type Made = Result<Option<Box<dyn Eviction>>, String>;

/// Constructor of a policy for a DRAM of `capacity` pages.
#[derive(Clone, Copy)]
pub struct Make(pub &'static (dyn Fn(u64, &mut Params) -> Made + Send + Sync));

/// A policy in the registry.
pub type Entry = registry::Entry<Make>;

/// A policy with its settings: `hold:share=0.5`.
pub type Spec = registry::Spec<Make>;

impl Spec {
    /// Makes the policy for a DRAM of `capacity` pages; `None` for the memory's own choice alone.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn policy(&self, capacity: u64) -> Made {
        self.make(|make, params| make.0(capacity, params))
    }
}
