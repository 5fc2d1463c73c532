//! Constructors of update policies, and their entries and specifications in the registry.

use terrace_policy::params::Params;
use terrace_policy::registry;

use super::UpdatePolicy;

/// A new policy, or a message about one of its settings.
pub type Made = Result<Box<dyn UpdatePolicy>, String>;

/// Constructor of a policy.
#[derive(Clone, Copy)]
pub struct Make(pub &'static (dyn Fn(&mut Params) -> Made + Send + Sync));

/// A policy in the registry.
pub type Entry = registry::Entry<Make>;

/// A policy with its settings: `coalesce:share=0.25`.
pub type Spec = registry::Spec<Make>;
