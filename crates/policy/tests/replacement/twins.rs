//! Every policy and its slow twin answer alike after every step.

use proptest::prelude::*;
use terrace_policy::replacement::{Entry, PageId, REGISTRY, Replacement, Touch};

use crate::slow::TWINS;
use crate::steps::{PAGES, Step, make_with, steps};

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

/// Settings beside the defaults, the bounds among them.
const SETTINGS: &[(&str, &[&str])] = &[
    ("2q", &["kin=1,kout=0", "kin=0,kout=2", "kin=0.6,kout=0.3"]),
    ("age", &["turns=1", "turns=3"]),
    ("cflru", &["window=0", "window=0.3", "window=1"]),
    ("lirs", &["hirs=1", "hirs=0.3,stack=1", "hirs=0.5,stack=3"]),
    (
        "s3fifo",
        &[
            "small=1",
            "small=0.4,ghosts=0,touches=1",
            "ghosts=2,touches=3",
        ],
    ),
];

proptest! {
    #[test]
    fn policy_and_twin_agree(capacity in 1..=20usize, seed: u64, steps in steps()) {
        for &(name, twin) in TWINS {
            let entry = Entry::by_name(name).expect("a twin has the name of a policy");
            let others = SETTINGS.iter().filter(|(known, _)| *known == name);
            let others = others.flat_map(|(_, settings)| settings.iter());
            for settings in [""].iter().chain(others) {
                let mut fast = make_with(entry.make, capacity, settings, seed, &steps);
                let mut slow = make_with(twin, capacity, settings, seed, &steps);
                for (at, step) in steps.iter().enumerate() {
                    let (ours, theirs) = (step.apply(&mut *fast), step.apply(&mut *slow));
                    prop_assert_eq!(ours, theirs, "{}:{} at step {}: {:?}", name, settings, at, step);
                    let (ours, theirs) = (contents(&*fast), contents(&*slow));
                    prop_assert_eq!(ours, theirs, "{}:{} after step {}: {:?}", name, settings, at, step);
                    let writes = fast.writes();
                    let is_asked = fast.has_writes() || writes.is_empty();
                    prop_assert!(is_asked, "{}: a driver would not ask", name);
                    let when = format!("{name}:{settings} after step {at}: {step:?}");
                    prop_assert_eq!(writes, slow.writes(), "{}", when);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Queues so long that reclaim is done at a priority, and 32 pages are a part of them.
    #[test]
    fn linux_and_its_twin_agree_on_long_queues(
        capacity in 20..600usize,
        pages in prop::collection::vec((0..1_200u32, 0..1_200u32, 0..50u32), 4_000),
    ) {
        let entry = Entry::by_name("linux").expect("it is there");
        let twin = TWINS.iter().find(|(name, _)| *name == "linux").expect("it has a twin");
        let [mut fast, mut slow] = [entry.make, twin.1].map(|make| make_with(make, capacity, "", 0, &[]));
        for (at, (one, other, kind)) in pages.into_iter().enumerate() {
            // Low pages are touched most, and some of them written.
            let page = PageId(one.min(other));
            let write = other % 3 == 0;
            let step = match kind {
                0 => Step::Remove(page),
                1..=4 => Step::Prefetch(page),
                _ => Step::Touch(Touch { page, write }),
            };
            let (ours, theirs) = (step.apply(&mut *fast), step.apply(&mut *slow));
            prop_assert_eq!(ours, theirs, "step {}: {:?}", at, step);
            prop_assert_eq!(fast.resident(), slow.resident(), "step {}: {:?}", at, step);
            // A driver that is late for the pages to be written gets those of the last reclaim.
            if kind % 2 == 0 {
                prop_assert_eq!(fast.writes(), slow.writes(), "step {}: {:?}", at, step);
            }
        }
    }
}
