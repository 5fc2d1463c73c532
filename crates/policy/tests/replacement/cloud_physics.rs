//! Miss ratios of a real trace against libCacheSim's, to the last digit it prints.

use std::collections::HashMap;
use std::path::PathBuf;

use terrace_policy::replacement::{PageId, Spec, Touch};

const TRACE: &str = "cloudPhysicsIO.oracleGeneral.bin";
const RATIOS: &str = "cloudPhysicsIO.miss-ratios.csv";

/// Our name, libCacheSim's, and by how much the miss ratios may differ. Where that is not
/// nothing, the policy's file says how the definitions differ.
const POLICIES: &[(&str, &str, f64)] = &[
    ("2q", "TwoQ", 0.0),
    ("arc", "ARC", 0.0),
    ("belady", "Belady", 0.0),
    ("clock", "Clock", 0.0),
    ("fifo", "FIFO", 0.0),
    ("lfu", "LFU", 0.0),
    ("lirs", "LIRS", 0.0001),
    ("lru", "LRU", 0.0),
    ("s3fifo", "S3FIFO-0.1000-2", 0.0),
    ("sieve", "Sieve", 0.0),
];

/// Reads a file of the shared data.
fn data(name: &str) -> Vec<u8> {
    let here = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let folder = std::env::var_os("TERRACE_DATA").map_or_else(here, PathBuf::from);
    let path = folder.join(name);
    let why = |error| panic!("this test needs {} (TERRACE_DATA): {error}", path.display());
    std::fs::read(&path).unwrap_or_else(why)
}

/// The touches of a trace in libCacheSim's oracleGeneral format: records of 24 bytes, in which
/// a u64 at byte 4 says what was asked for.
fn touches(trace: &[u8]) -> Vec<Touch> {
    let mut pages = HashMap::new();
    let mut touch = |record: &[u8]| {
        let next = PageId(pages.len() as u32);
        let page = *pages.entry(record[4..12].to_vec()).or_insert(next);
        Touch { page, write: false }
    };
    trace.chunks_exact(24).map(&mut touch).collect()
}

fn miss_ratio(policy: &str, capacity: usize, touches: &[Touch]) -> f64 {
    let future: Vec<_> = touches.iter().map(|touch| touch.page).collect();
    let spec = Spec::parse(policy).expect("in the registry");
    let mut policy = spec.policy(capacity, 1, Some(&future)).unwrap();
    policy.replay(touches) as f64 / touches.len() as f64
}

#[test]
#[ignore = "needs third-party traces; run by make test-data"]
fn shared_data_misses_are_those_of_libcachesim() {
    let touches = touches(&data(TRACE));
    let ratios = String::from_utf8(data(RATIOS)).expect("the figures are text");
    let mut compared = 0;
    for row in ratios.lines().skip(1) {
        let fields: Vec<_> = row.split(',').collect();
        let [theirs, capacity, requests, ratio] = fields[..] else {
            panic!("{row:?} does not have four fields");
        };
        let known = POLICIES.iter().find(|(_, name, _)| *name == theirs);
        let Some(&(ours, _, tolerance)) = known else {
            continue;
        };
        assert_eq!(requests.parse(), Ok(touches.len()));
        let capacity = capacity.parse().expect("a number of objects");
        let ratio: f64 = ratio.parse().expect("a miss ratio");
        let our_ratio = miss_ratio(ours, capacity, &touches);
        println!("{ours} {capacity}: {our_ratio:.4}, {theirs}: {ratio:.4}");
        // Half of the last digit printed is lost by rounding.
        let difference = (our_ratio - ratio).abs();
        assert!(
            difference <= tolerance + 0.00005001,
            "{ours} with {capacity} pages misses {our_ratio:.5}, {theirs} {ratio}"
        );
        compared += 1;
    }
    assert_eq!(compared, 3 * POLICIES.len(), "three sizes of every policy");
}
