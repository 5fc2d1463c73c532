//! Every turn policy, by the name that users write.

use super::make::{Entry, Machine, Make};
use super::{fill, fixed, off, refill};
use crate::params::Params;
use crate::registry;

/// Every policy, by name.
pub const REGISTRY: &[Entry] = &[refill::ENTRY, fixed::ENTRY, fill::ENTRY, off::ENTRY];

impl registry::Kind for Make {
    const NOUN: &'static str = "turn policy";
    const ENTRIES: &'static [Entry] = REGISTRY;

    fn declare(&self, params: &mut Params) -> Result<(), String> {
        (self.0)(&Machine::default(), params).map(drop)
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
