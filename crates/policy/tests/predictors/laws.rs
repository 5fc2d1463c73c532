//! Laws that hold for every predictor.

use std::collections::HashSet;

use proptest::prelude::*;
use terrace_policy::Fault;
use terrace_policy::prefetch::{Entry, Make, Params, Prediction, Predictor, REGISTRY};

use crate::steps::{Sources, Step, steps};

/// Returns the most pages that a predictor may name at a fault, with its default settings.
fn most(entry: &Entry) -> usize {
    let setting = |key: &str| {
        let settings = entry.settings();
        let found = settings.iter().find(|setting| setting.key == key);
        found.map_or(0, |setting| setting.default.parse().unwrap())
    };
    match entry.name {
        "auto" => ["stream", "replay", "temporal"]
            .map(|name| most(Entry::by_name(name).unwrap()))
            .iter()
            .sum(),
        "corp" => (1 << setting("cluster")) - 1,
        "leap" => setting("window"),
        "markov" => setting("edges"),
        "replay" => setting("depth"),
        // An element may lie on two pages.
        "stream" => setting("depth") + 1,
        name => match setting("degree") {
            0 => panic!("how many pages does {name} name? Say it here"),
            degree => degree,
        },
    }
}

fn online() -> impl Iterator<Item = (&'static Entry, Box<dyn Predictor>)> {
    REGISTRY.iter().filter_map(|entry| match entry.make {
        Make::Online(make) => Some((entry, make(&mut Params::default()).unwrap())),
        Make::Offline(_) => None,
    })
}

fn check(entry: &Entry, fault: &Fault, answer: &[Prediction]) -> Result<(), TestCaseError> {
    let pages: Vec<_> = answer.iter().flat_map(|named| &named.pages).collect();
    let distinct: HashSet<_> = pages.iter().collect();
    let name = entry.name;
    prop_assert!(pages.len() <= most(entry), "{name}: {} pages", pages.len());
    prop_assert_eq!(distinct.len(), pages.len(), "{} names a page twice", name);
    prop_assert!(!pages.contains(&&fault.at), "{name} names the page itself");
    Ok(())
}

proptest! {
    #[test]
    fn answers_are_bounded_and_sensible(steps in steps()) {
        for (entry, mut predictor) in online() {
            let mut sources = Sources::default();
            for step in &steps {
                let answer = sources.step(&mut *predictor, step);
                if let Step::Fault(fault) = step {
                    check(entry, fault, &answer)?;
                }
            }
        }
    }

    #[test]
    fn the_same_again_is_answered_alike(steps in steps()) {
        for ((entry, mut one), (_, mut other)) in online().zip(online()) {
            let (mut ones, mut others) = (Sources::default(), Sources::default());
            for step in &steps {
                let answers = (ones.step(&mut *one, step), others.step(&mut *other, step));
                prop_assert_eq!(answers.0, answers.1, "{}", entry.name);
            }
        }
    }
}
