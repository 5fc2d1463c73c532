//! Every policy and its slow twin answer alike after every step.

use proptest::prelude::*;
use terrace_policy::replacement::{PageId, REGISTRY, Replacement, by_name};

use crate::slow::TWINS;
use crate::steps::{PAGES, make, steps};

#[test]
fn every_policy_has_a_twin() {
    for entry in REGISTRY {
        let twins = TWINS.iter().filter(|(name, _)| *name == entry.name).count();
        assert_eq!(twins, 1, "twins of {}", entry.name);
    }
}

/// The resident pages, a bit each, and how many the policy says they are.
fn contents(policy: &dyn Replacement) -> (u64, usize) {
    let bit = |page| u64::from(policy.contains(PageId(page))) << page;
    ((0..PAGES).map(bit).sum(), policy.resident())
}

proptest! {
    #[test]
    fn policy_and_twin_agree(capacity in 1..=20usize, seed: u64, steps in steps()) {
        for &(name, twin) in TWINS {
            let entry = by_name(name).expect("a twin has the name of a policy");
            let mut fast = make(entry.make, capacity, seed, &steps);
            let mut slow = make(twin, capacity, seed, &steps);
            for (at, step) in steps.iter().enumerate() {
                let (ours, theirs) = (step.apply(&mut *fast), step.apply(&mut *slow));
                prop_assert_eq!(ours, theirs, "{} at step {}: {:?}", name, at, step);
                let (ours, theirs) = (contents(&*fast), contents(&*slow));
                prop_assert_eq!(ours, theirs, "{} after step {}: {:?}", name, at, step);
            }
        }
    }
}
