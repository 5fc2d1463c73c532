//! Laws that hold for every policy of the registry.

use std::collections::HashSet;

use proptest::prelude::*;
use terrace_policy::replacement::{Answer, REGISTRY, Replacement, Touch};

use crate::steps::{Step, make, steps, touches};

/// Takes a step and checks it against the laws; `resident` are the pages resident by the answers
/// so far.
fn lawful_step(
    policy: &mut dyn Replacement,
    resident: &mut HashSet<u32>,
    capacity: usize,
    step: Step,
) -> Result<(), TestCaseError> {
    let full = resident.len() == capacity;
    let asked = matches!(step, Step::Evict) && !resident.is_empty();
    let missing = step.brings().filter(|page| !resident.contains(&page.0));
    let (answer, evicted) = step.apply(policy);

    if let Some(answer) = answer {
        prop_assert_eq!(answer == Answer::Hit, missing.is_none(), "hit or miss");
    }
    prop_assert_eq!(
        evicted.is_some(),
        full && missing.is_some() || asked,
        "a page goes when a page comes and there is no room, or one is asked for, only then"
    );
    if let Some(evicted) = evicted {
        prop_assert!(resident.remove(&evicted.0), "{evicted:?} was not resident");
        prop_assert!(!policy.contains(evicted), "{evicted:?} is still resident");
    }
    if let Some(page) = step.brings() {
        resident.insert(page.0);
        prop_assert!(policy.contains(page), "{page:?} is not resident");
    }
    if let Step::Remove(page) = step {
        resident.remove(&page.0);
        prop_assert!(!policy.contains(page), "{page:?} was removed");
    }
    prop_assert!(resident.len() <= capacity);
    prop_assert_eq!(policy.resident(), resident.len());
    Ok(())
}

proptest! {
    #[test]
    fn pages_come_and_go_one_by_one(capacity in 1..=20usize, seed: u64, steps in steps()) {
        for entry in REGISTRY {
            let mut policy = make(entry.make, capacity, seed, &steps);
            let mut resident = HashSet::new();
            for (at, &step) in steps.iter().enumerate() {
                let lawful = lawful_step(&mut *policy, &mut resident, capacity, step);
                prop_assert!(lawful.is_ok(), "{} at step {}, {:?}: {:?}", entry.name, at, step, lawful);
            }
        }
    }

    #[test]
    fn a_replay_is_its_touches(capacity in 1..=20usize, seed: u64, steps in steps()) {
        let touches = touches(&steps);
        for entry in REGISTRY {
            let mut one_by_one = make(entry.make, capacity, seed, &steps);
            let missed = |touch: &&Touch| one_by_one.touch(**touch) != Answer::Hit;
            let misses = touches.iter().filter(missed).count() as u64;
            let mut replayed = make(entry.make, capacity, seed, &steps);
            prop_assert_eq!(replayed.replay(&touches), misses, "{}", entry.name);
            for touch in &touches {
                let contains = one_by_one.contains(touch.page);
                prop_assert_eq!(replayed.contains(touch.page), contains, "{}", entry.name);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_answers(capacity in 1..=20usize, seed: u64, steps in steps()) {
        for entry in REGISTRY {
            let mut first = make(entry.make, capacity, seed, &steps);
            let mut second = make(entry.make, capacity, seed, &steps);
            for step in &steps {
                let (first, second) = (step.apply(&mut *first), step.apply(&mut *second));
                prop_assert_eq!(first, second, "{}", entry.name);
            }
        }
    }
}
