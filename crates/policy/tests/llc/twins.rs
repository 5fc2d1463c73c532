//! A policy and its slow twin do the same with every request.

use proptest::prelude::*;
use terrace_policy::llc::Geometry;
use terrace_policy::params::Params;

use crate::requests::{cache, geometry, requests};
use crate::slow::TWINS;

/// Settings under which everything happens within a few hundred requests.
const SETTINGS: &[(&str, &[&str])] = &[
    (
        "ari",
        &[
            "",
            "epoch=40,tag=12",
            "epoch=25,dirty=lh",
            "epoch=40,p=2,tag=30",
            "epoch=31,sets=1,tag=2",
            "epoch=40,insert=mru",
            "epoch=40,insert=lh,dirty=lh",
            "epoch=25,insert=p+1,recent=0.5",
            "epoch=25,insert=p+1,dirty=lh",
            "epoch=40,evict=lru",
            "epoch=41,half=on",
            "epoch=30,half=on,insert=lh,recent=1",
            "epoch=30,half=on,p=2",
            "epoch=40,recent=1,slack=0",
            "epoch=25,slack=inf,wmiss=0.5,wwb=3",
            "epoch=25,recent=0.5,margin=0.1",
            "epoch=25,margin=1",
            "epoch=20,live=on,p=2,insert=mru",
            "epoch=40,live=on,p=2,evict=lru",
            "epoch=40,live=on,p=3,insert=p+1,dirty=lh",
            "epoch=31,live=on,p=3,half=on",
        ],
    ),
    (
        "density",
        &[
            "",
            "epoch=1,sets=1",
            "epoch=7",
            "epoch=20,sets=2,wwb=1.5",
            "epoch=20,wwb=0",
            "epoch=20,wwb=4,bypass=off",
        ],
    ),
    (
        "dip",
        &[
            "",
            "leaders=1,psel=2,every=3",
            "psel=1,every=1",
            "psel=4,leaders=0",
        ],
    ),
    (
        "drrip",
        &[
            "",
            "bits=1,leaders=1,psel=2,every=3",
            "bits=3,psel=1,every=2",
            "bits=8,leaders=0",
        ],
    ),
    ("fifo", &[""]),
    ("lru", &[""]),
    (
        "nhm",
        &[
            "",
            "n=0",
            "n=1,insert=lh",
            "n=2,dirty=lh",
            "n=8,insert=lh,dirty=lh",
            "n=16,insert=lh",
        ],
    ),
    ("nru", &[""]),
    ("plru", &[""]),
    ("random", &[""]),
];

/// Runs both, unless the cache is too small for the setting.
fn agree(
    (name, setting): (&str, &str),
    geometry: Geometry,
    seed: u64,
    requests: &[terrace_policy::llc::Request],
) -> Result<(), TestCaseError> {
    let Ok(mut fast) = cache(geometry, &format!("{name}:{setting}"), seed) else {
        return Ok(());
    };
    let (_, twin) = TWINS.iter().find(|(twin, _)| *twin == name).unwrap();
    let mut slow = twin(geometry, &mut Params::parse(setting).unwrap(), seed);
    for (at, request) in requests.iter().enumerate() {
        let outcomes = (fast.access(request), slow.access(request));
        let spec = format!("{name}:{setting} at {at}: {request:?}");
        prop_assert_eq!(outcomes.0, outcomes.1, "{}", spec);
        prop_assert_eq!(fast.policy().in_force(), slow.in_force(), "{}", spec);
    }
    Ok(())
}

proptest! {
    #[test]
    fn policy_and_twin_agree(geometry in geometry(), seed: u64, requests in requests()) {
        for &(name, settings) in SETTINGS {
            for &setting in settings {
                agree((name, setting), geometry, seed, &requests)?;
            }
        }
    }
}

#[test]
fn every_setting_is_tried_in_some_cache() {
    let geometry = Geometry { sets: 8, ways: 16 };
    for &(name, settings) in SETTINGS {
        for setting in settings {
            let made = cache(geometry, &format!("{name}:{setting}"), 1);
            made.map(drop).unwrap_or_else(|problem| panic!("{problem}"));
        }
    }
}
