//! Last-level cache policies that predict, against slow twins and general laws.

#[path = "llc_predictive/slow/mod.rs"]
mod slow;
#[path = "llc_predictive/stream.rs"]
mod stream;

use proptest::prelude::*;
use terrace_policy::llc::{Cache, Geometry, LlcPolicy, Outcome, Spec};
use terrace_policy::params::Params;

use crate::slow::TWINS;
use crate::stream::{Step, requests, steps};

/// Each policy with its defaults, and with other settings.
const SPECS: &[&str] = &[
    "dblk",
    "dblk:sampled=2,entries=3,threshold=5,bypass=off",
    "hawkeye",
    "hawkeye:sampled=2,history=2,lines=5,counter=2",
    "mockingjay",
    "mockingjay:sampled=8,signature=14,bypass=off",
    "rlr",
    "rlr:age=5,misses=1,wb=prefetch",
    "ship",
    "ship:sampled=2,counter=2,rrpv=3",
];

fn cache(spec: &str, geometry: Geometry) -> Cache {
    let spec = Spec::parse(spec).unwrap();
    Cache::new(geometry, spec.policy(geometry, 1).unwrap())
}

fn twin(spec: &str, geometry: Geometry) -> Cache {
    let (name, params) = spec.split_once(':').unwrap_or((spec, ""));
    let (_, make) = TWINS.iter().find(|(twin, _)| *twin == name).unwrap();
    let mut params = Params::parse(params).unwrap();
    let policy: Box<dyn LlcPolicy> = make(geometry, &mut params);
    params.finish().unwrap();
    Cache::new(geometry, policy)
}

/// Returns the outcome without a position, because twins keep no order.
fn plain(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Hit { .. } => Outcome::Hit { position: None },
        other => other,
    }
}

/// Draws a small cache, as in the tests of other policies.
fn small() -> impl Strategy<Value = Geometry> {
    let ways = prop::sample::select(vec![1, 2, 4, 12, 16]);
    let sets = prop::sample::select(vec![1, 4, 8, 64]);
    (sets, ways).prop_map(|(sets, ways)| Geometry { sets, ways })
}

fn any() -> impl Strategy<Value = Geometry> {
    (1..=100usize, 1..=64usize).prop_map(|(sets, ways)| Geometry { sets, ways })
}

proptest! {
    // Twins search all that there ever was.
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn policy_and_twin_agree(geometry in small(), steps in steps()) {
        let requests = requests(geometry, &steps);
        for spec in SPECS {
            let (mut fast, mut slow) = (cache(spec, geometry), twin(spec, geometry));
            for (at, request) in requests.iter().enumerate() {
                let ours = plain(fast.access(request));
                let theirs = plain(slow.access(request));
                prop_assert_eq!(ours, theirs, "{} at {}: {:?}", spec, at, request);
            }
        }
    }

    #[test]
    fn policy_and_twin_agree_in_an_exclusive_cache(
        geometry in small(), steps in steps(), lines in 1..40usize,
    ) {
        let requests = stream::above(lines, &requests(geometry, &steps));
        for spec in SPECS {
            let caches = [cache(spec, geometry), twin(spec, geometry)];
            let [mut fast, mut slow] = caches.map(|cache| cache.exclusive().unwrap());
            for (at, request) in requests.iter().enumerate() {
                let serve = |cache: &mut Cache| {
                    let mut outcomes = Vec::new();
                    cache.serve(std::slice::from_ref(request), &mut outcomes);
                    plain(outcomes[0])
                };
                let (ours, theirs) = (serve(&mut fast), serve(&mut slow));
                prop_assert_eq!(ours, theirs, "{} at {}: {:?}", spec, at, request);
            }
        }
    }

    /// Every request hits, misses or is bypassed; what misses is there afterwards; what is written
    /// is never bypassed; and lines that come in either stay or are evicted.
    #[test]
    fn nothing_is_lost(geometry in any(), steps in steps()) {
        for spec in SPECS {
            let mut cache = cache(spec, geometry);
            let (mut filled, mut evicted) = (0, 0);
            for request in requests(geometry, &steps) {
                match cache.access(&request) {
                    Outcome::Hit { .. } => {}
                    Outcome::Passed => unreachable!("the cache is not exclusive"),
                    Outcome::Miss { evicted: gone } => {
                        filled += 1;
                        evicted += usize::from(gone.is_some());
                    }
                    Outcome::Bypassed { written } => {
                        prop_assert!(!written);
                        let may = cache.policy().bypasses() && !request.kind.writes();
                        prop_assert!(may, "{}", spec);
                    }
                }
            }
            prop_assert!(filled - evicted <= geometry.lines());
            prop_assert!(cache.dirty_lines() as usize <= filled - evicted);
        }
    }
}

/// The twins see what the policies are for: a loop that fits, and a scan through it. All but `rlr`,
/// which knows no instructions, lose fewer of the loop than LRU, which loses all.
#[test]
fn a_loop_survives_a_scan() {
    let geometry = Geometry { sets: 64, ways: 16 };
    let mut steps = Vec::new();
    for round in 0..40 {
        steps.push(Step::Loop { tags: 12, ip: 1 });
        steps.push(Step::Scan {
            first: 100 + 24 * round,
            tags: 24,
            ip: 2,
        });
    }
    let requests = stream::over_all_sets(geometry, &steps);
    let given = stream::above(8, &requests);
    let hits = |spec, exclusive| {
        let (cache, requests) = (cache(spec, geometry), &requests);
        let (mut cache, requests) = match exclusive {
            true => (cache.exclusive().unwrap(), &given),
            false => (cache, requests),
        };
        let mut outcomes = Vec::new();
        cache.serve(requests, &mut outcomes);
        let hit = |outcome: &&Outcome| matches!(outcome, Outcome::Hit { .. });
        outcomes.iter().filter(hit).count()
    };
    let most = 39 * 12 * 64;
    for exclusive in [false, true] {
        assert_eq!(hits("lru", exclusive), 0);
        for spec in ["dblk", "hawkeye", "mockingjay", "ship"] {
            let hits = hits(spec, exclusive);
            assert!(hits > most / 2, "{spec}: {hits} of {most}, {exclusive}");
        }
    }
}
