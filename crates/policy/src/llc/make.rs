//! Constructors of policies for last-level caches, and their entries and specifications in the
//! registry.

use super::{Geometry, LlcPolicy};
use crate::params::Params;
use crate::registry;

/// A new policy, or a message about one of its settings.
pub type Made = Result<Box<dyn LlcPolicy>, String>;

/// Makes a policy for a cache of this shape; the seed is for random choices.
type New = &'static (dyn Fn(Geometry, &mut Params, u64) -> Made + Send + Sync);

/// Constructor of a policy, by what the policy learns from.
#[derive(Clone, Copy)]
pub enum Make {
    /// The policy looks at the lines that are requested.
    ByLine(New),
    /// The policy learns by the address of the requesting instruction, and is useless with a trace
    /// that has none.
    ByInstruction(New),
    /// The policy knows all requests beforehand: [`LlcPolicy::foresee`].
    ByFuture(New),
}

impl Make {
    /// Whether the policy learns by the address of the requesting instruction.
    pub fn needs_ip(self) -> bool {
        matches!(self, Self::ByInstruction(_))
    }

    /// Whether the policy has to see all requests before the first.
    pub fn knows_future(self) -> bool {
        matches!(self, Self::ByFuture(_))
    }

    pub(super) fn maker(self) -> New {
        let (Self::ByLine(new) | Self::ByInstruction(new) | Self::ByFuture(new)) = self;
        new
    }
}

/// A policy in the registry.
pub type Entry = registry::Entry<Make>;

/// A policy with its settings: `nhm:n=8,insert=lh`. Values that depend on the cache are checked
/// when a policy is made.
pub type Spec = registry::Spec<Make>;

impl Spec {
    /// Makes the policy for a cache of this shape.
    ///
    /// # Errors
    /// Returns a message if there is no such setting, or it has a wrong value for this cache.
    pub fn policy(&self, geometry: Geometry, seed: u64) -> Made {
        self.make(|make, params| make.maker()(geometry, params, seed))
    }
}
