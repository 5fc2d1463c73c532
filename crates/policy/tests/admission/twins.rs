//! Every policy and its slow twin answer alike after every call.

use proptest::prelude::*;
use terrace_policy::admission::{Machine, REGISTRY, Spec};
use terrace_policy::params::Params;

use crate::calls::{answers, calls, time};
use crate::slow::TWINS;

#[test]
fn every_policy_has_a_twin() {
    for entry in REGISTRY {
        let twins = TWINS
            .iter()
            .filter(|(name, ..)| *name == entry.name)
            .count();
        assert_eq!(twins, 1, "twins of {}", entry.name);
    }
}

proptest! {
    #[test]
    fn policy_and_twin_agree(flash in 1..40_u64, dram in 0..8_u64, calls in calls()) {
        let machine = Machine { flash, dram };
        for (name, twin, settings) in TWINS {
            for settings in *settings {
                let spec = Spec::parse(&format!("{name}:{settings}")).unwrap();
                let mut fast = spec.policy(&machine).unwrap();
                let mut slow = twin(&machine, &mut Params::parse(settings).unwrap());
                for (at, call) in calls.iter().enumerate() {
                    call.tell(&mut *fast);
                    call.tell(&mut *slow);
                    let (ours, theirs) = (answers(&*fast, time(call)), answers(&*slow, time(call)));
                    prop_assert_eq!(ours, theirs, "{} after call {}: {:?}", spec, at, call);
                }
            }
        }
    }
}
