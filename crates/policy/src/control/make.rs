//! Constructors of control policies, and their entries and specifications in the registry.

use super::{Control, Controller};
use crate::params::Params;
use crate::registry;

/// A new policy, or a message about one of its settings.
pub type Made = Result<Box<dyn Control>, String>;

/// Constructor of a policy.
#[derive(Clone, Copy)]
pub struct Make(pub &'static (dyn Fn(&mut Params) -> Made + Send + Sync));

/// A policy in the registry.
pub type Entry = registry::Entry<Make>;

/// A policy with its settings: `slowdown:goal=0.05`.
pub type Spec = registry::Spec<Make>;

impl Spec {
    /// Makes the policy, with the rules that hold for all.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn controller(&self) -> Result<Controller, String> {
        self.make(|make, params| make.0(params))
            .map(Controller::new)
    }
}
