//! A predictor and its slow twin answer alike after every step.

use proptest::prelude::*;
use terrace_policy::prefetch::{Entry, Make, Params};

use crate::slow::TWINS;
use crate::steps::{Sources, steps};

/// Settings under which tables run full and windows open and close.
const SETTINGS: &[(&str, &[&str])] = &[
    (
        "leap",
        &[
            "",
            "history=8,split=4,window=4",
            "history=5,split=9,window=7",
        ],
    ),
    ("markov", &["", "states=5,edges=2", "states=1,edges=8"]),
    (
        "stride",
        &[
            "",
            "strides=8,occurrences=5,depth=4",
            "history=3,strides=2,depth=3,degree=7",
        ],
    ),
    (
        "vldp",
        &[
            "",
            "entries=3,tables=4,degree=5,threshold=0.5",
            "entries=8,tables=2,threshold=0.9",
            "tables=1,threshold=0",
        ],
    ),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn predictor_and_twin_agree(steps in steps()) {
        for &(name, settings) in SETTINGS {
            for setting in settings {
                let params = || Params::parse(setting).unwrap();
                let Make::Online(make) = Entry::by_name(name).unwrap().make else {
                    panic!("{name} is online");
                };
                let (_, twin) = TWINS.iter().find(|(twin, _)| *twin == name).unwrap();
                let mut fast = make(&mut params()).unwrap();
                let mut slow = twin(&mut params());
                let (mut ours, mut theirs) = (Sources::default(), Sources::default());
                for (at, step) in steps.iter().enumerate() {
                    let answers = (ours.step(&mut *fast, step), theirs.step(&mut *slow, step));
                    prop_assert_eq!(answers.0, answers.1, "{}:{} at {}: {:?}", name, setting, at, step);
                }
            }
        }
    }
}
