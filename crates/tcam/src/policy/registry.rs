//! Every update policy, by the name that users write.

use terrace_policy::params::Params;
use terrace_policy::registry;

use super::make::{Entry, Make};
use super::{coalesce, damping, lazy, thesis, unchanged};

/// Every policy, by name.
pub const REGISTRY: &[Entry] = &[
    thesis::ENTRY,
    unchanged::ENTRY,
    coalesce::ENTRY,
    damping::ENTRY,
    lazy::ENTRY,
];

impl registry::Kind for Make {
    const NOUN: &'static str = "update policy";
    const ENTRIES: &'static [Entry] = REGISTRY;

    fn declare(&self, params: &mut Params) -> Result<(), String> {
        (self.0)(params).map(drop)
    }
}
