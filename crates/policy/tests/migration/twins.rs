//! Every policy and its slow twin ask for the same after every call.

use proptest::prelude::*;
use terrace_policy::migration::Plan;

use crate::calls::{TRIED, calls, policy};
use crate::slow;

proptest! {
    #[test]
    fn policy_and_twin_agree(room in 0..10_usize, calls in calls()) {
        for text in TRIED {
            let (mut fast, mut twin) = (policy(text, room), slow::twin(text, room));
            for (at, call) in calls.iter().enumerate() {
                let (mut ours, mut theirs) = (Plan::default(), Plan::default());
                let sides = (call.tell(&mut *fast, &mut ours), call.tell(&mut *twin, &mut theirs));
                prop_assert_eq!(sides.0, sides.1, "{} at call {}: {:?}", text, at, call);
                prop_assert_eq!(ours, theirs, "{} at call {}: {:?}", text, at, call);
                prop_assert_eq!(fast.next_scan(), twin.next_scan(), "{}", text);
            }
        }
    }
}
