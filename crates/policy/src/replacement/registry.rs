//! Every replacement policy, by the name that users write.

use super::make::{Entry, Make};
use super::{
    age, arc, belady, cflru, clock, fifo, lfu, linux, lirs, lru, random, s3fifo, sieve, twoq,
};
use crate::params::Params;
use crate::registry;

/// Every policy, by name.
pub const REGISTRY: &[Entry] = &[
    twoq::ENTRY,
    age::ENTRY,
    arc::ENTRY,
    belady::ENTRY,
    cflru::ENTRY,
    clock::ENTRY,
    fifo::ENTRY,
    lfu::ENTRY,
    linux::ENTRY,
    lirs::ENTRY,
    lru::ENTRY,
    random::ENTRY,
    s3fifo::ENTRY,
    sieve::ENTRY,
];

impl registry::Kind for Make {
    const NOUN: &'static str = "replacement policy";
    const ENTRIES: &'static [Entry] = REGISTRY;

    fn declare(&self, params: &mut Params) -> Result<(), String> {
        self.policy(params, 1, 0, Some(&[])).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replacement::Spec;

    #[test]
    fn every_policy_is_documented_and_made_of_its_name() {
        registry::check::<Make>();
    }

    #[test]
    fn a_list_with_settings() {
        let list = Spec::parse_list("lru,cflru:window=0.3,arc,2q:kin=0.5,kout=1").unwrap();
        let texts: Vec<String> = list.iter().map(Spec::to_string).collect();
        assert_eq!(
            texts,
            ["lru", "cflru:window=0.3", "arc", "2q:kin=0.5,kout=1"]
        );
        let error = Spec::parse("cflru:window=2").unwrap_err();
        assert_eq!(error, "cflru: window=2: it is a number from 0 to 1");
    }
}
