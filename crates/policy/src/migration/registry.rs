//! Every migration policy, by the name that users write.

use super::make::{Entry, Make};
use super::{balance, benefit, fault, hot, interleave, never, sampled, write_aware};
use crate::params::Params;
use crate::registry;

/// Every policy, by name.
pub const REGISTRY: &[Entry] = &[
    fault::ENTRY,
    never::ENTRY,
    interleave::ENTRY,
    sampled::ENTRY,
    hot::ENTRY,
    benefit::ENTRY,
    write_aware::ENTRY,
    balance::ENTRY,
];

impl registry::Kind for Make {
    const NOUN: &'static str = "migration policy";
    const ENTRIES: &'static [Entry] = REGISTRY;

    fn declare(&self, params: &mut Params) -> Result<(), String> {
        (self.0)(1, params).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spec;
    use super::*;

    #[test]
    fn every_policy_is_documented_and_made_of_its_name() {
        registry::check::<Make>();
    }

    #[test]
    fn only_faults_bring_every_page_to_fast_memory() {
        for entry in REGISTRY {
            let spec = Spec::from(entry);
            let made = spec.policy(1).unwrap();
            assert_eq!(made.is_some(), spec.bypasses(), "{}", entry.name);
            assert_eq!(made.is_none(), entry.name == "fault");
        }
    }
}
