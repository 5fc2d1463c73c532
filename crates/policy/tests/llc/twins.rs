//! A policy and its slow twin do the same with every request.

use std::collections::VecDeque;

use proptest::prelude::*;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_policy::llc::{Geometry, Kind, Request};
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
            "epoch=25,order=rrip",
            "epoch=25,order=rrip,insert=lh,dirty=lh",
            "epoch=40,order=rrip,evict=lru,insert=p+1",
            "epoch=41,half=on",
            "epoch=30,half=on,insert=lh,recent=1",
            "epoch=30,half=on,p=2",
            "epoch=40,recent=1,slack=0",
            "epoch=25,slack=inf,wmiss=0.5,wwb=3",
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
    requests: &[Request],
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

/// Requests as a program makes them: sweeps through somewhat more than the cache, among lines that
/// are drawn, low numbers more often; a part of each is written back later.
fn stream(seed: u64, count: usize) -> Vec<Request> {
    let mut chance = SplitMix64::seed_from_u64(seed);
    let (mut swept, mut written) = (0, VecDeque::new());
    let mut requests = Vec::new();
    while requests.len() < count {
        let draw = chance.next_u64();
        let (line, kind) = match draw % 8 {
            0..3 => {
                swept = (swept + 1) % 40_000;
                ((1 << 20) + swept, Kind::Load)
            }
            3 | 4 if written.len() > 2000 => (written.pop_front().unwrap_or(0), Kind::WriteBack),
            _ => ((draw >> 8) % (1 << (10 + (draw >> 40) % 8)), Kind::Store),
        };
        if kind != Kind::WriteBack && draw >> 60 < 6 {
            written.push_back(line);
        }
        requests.push(Request {
            line,
            ip: 0,
            core: 0,
            kind,
        });
    }
    requests
}

/// The paper's cache (Fedorov 2016, table 2.1) and settings, with enough requests for three
/// decisions: LRU, all partitionings with both insertions, and ARI.
#[test]
fn the_paper_s_settings_agree_on_streams() {
    let geometry = Geometry {
        sets: 2048,
        ways: 16,
    };
    let partitionings = (0..=16)
        .flat_map(|high| ["mru", "lh"].map(|insert| ("nhm", format!("n={high},insert={insert}"))));
    let others = [("lru", String::new()), ("ari", String::new())];
    let specs: Vec<(&str, String)> = partitionings.chain(others).collect();
    for seed in [1, 2] {
        let requests = stream(seed, 80_000);
        for (name, setting) in &specs {
            agree((name, setting), geometry, 1, &requests).unwrap();
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
