//! Every control policy, by the name that users write.

use super::make::{Entry, Make};
use super::{fixed, senpai, slowdown};
use crate::params::Params;
use crate::registry;

/// Every policy, by name.
pub const REGISTRY: &[Entry] = &[fixed::ENTRY, senpai::ENTRY, slowdown::ENTRY];

impl registry::Kind for Make {
    const NOUN: &'static str = "control policy";
    const ENTRIES: &'static [Entry] = REGISTRY;

    fn declare(&self, params: &mut Params) -> Result<(), String> {
        (self.0)(params).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_documented_and_made_of_its_name() {
        registry::check::<Make>();
    }
}
