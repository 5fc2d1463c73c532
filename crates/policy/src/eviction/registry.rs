//! Every eviction policy, by the name that users write.

use super::make::{Entry, Make};
use super::{hold, kernel};
use crate::params::Params;
use crate::registry;

/// Every policy, by name.
pub const REGISTRY: &[Entry] = &[kernel::ENTRY, hold::ENTRY];

impl registry::Kind for Make {
    const NOUN: &'static str = "eviction policy";
    const ENTRIES: &'static [Entry] = REGISTRY;

    fn declare(&self, params: &mut Params) -> Result<(), String> {
        (self.0)(1, params).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eviction::Spec;

    #[test]
    fn every_policy_is_documented_and_made_of_its_name() {
        registry::check::<Make>();
    }

    #[test]
    fn the_kernel_alone_needs_no_policy() {
        let made = |text: &str| Spec::parse(text).unwrap().policy(100).unwrap();
        assert!(made("kernel").is_none());
        assert!(made("hold:share=0.5").is_some());
    }
}
