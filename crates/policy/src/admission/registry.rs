//! Every admission policy, by the name that users write.

use super::make::{Entry, Machine, Make};
use super::{all, second_read, sequential, size, sketch, write_budget};
use crate::params::Params;
use crate::registry;

/// Every policy, by name.
pub const REGISTRY: &[Entry] = &[
    all::ENTRY,
    second_read::ENTRY,
    sequential::ENTRY,
    size::ENTRY,
    sketch::ENTRY,
    write_budget::ENTRY,
];

impl registry::Kind for Make {
    const NOUN: &'static str = "admission policy";
    const ENTRIES: &'static [Entry] = REGISTRY;

    fn declare(&self, params: &mut Params) -> Result<(), String> {
        let example = Machine { flash: 1, dram: 1 };
        (self.0)(&example, params).map(drop)
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
