//! Random requests of the levels above a cache.

use proptest::prelude::*;
use proptest::sample::select;
use terrace_policy::llc::{Cache, Geometry, Kind, Request, Spec};

/// Small caches, some with shapes that no hardware has.
pub fn geometry() -> impl Strategy<Value = Geometry> {
    (select(vec![1, 3, 4, 8]), select(vec![1, 2, 3, 12, 16]))
        .prop_map(|(sets, ways)| Geometry { sets, ways })
}

/// Some lines more often than others, so that there are hits in every cache; some far away, so
/// that their tags are long.
fn line() -> impl Strategy<Value = u64> {
    let near = prop_oneof![4 => 0..10u64, 3 => 0..60u64, 3 => 0..400u64];
    let base = prop_oneof![8 => Just(0), 1 => Just(1 << 20), 1 => Just(3 << 41)];
    (near, base).prop_map(|(near, base)| base + near)
}

fn request() -> impl Strategy<Value = Request> {
    let kind = prop_oneof![
        4 => Just(Kind::Load),
        1 => Just(Kind::Store),
        3 => Just(Kind::WriteBack),
        1 => Just(Kind::Prefetch),
    ];
    (line(), 1..8u64, 0..3u8, kind).prop_map(|(line, ip, core, kind)| Request {
        line,
        ip: if kind.writes() { 0 } else { 0x40_0000 + 4 * ip },
        core,
        kind,
    })
}

/// A run of requests: at random, and scans among them.
pub fn requests() -> impl Strategy<Value = Vec<Request>> {
    let scan = (request(), 1..50u64).prop_map(|(first, lines)| {
        let nth = |n| Request {
            line: first.line + n,
            ..first
        };
        (0..lines).map(nth).collect()
    });
    let one = request().prop_map(|request| vec![request]);
    let parts = prop::collection::vec(prop_oneof![30 => one, 1 => scan], 1..500);
    parts.prop_map(|parts: Vec<Vec<Request>>| parts.concat())
}

/// A cache under a policy as it is written.
pub fn cache(geometry: Geometry, spec: &str, seed: u64) -> Result<Cache, String> {
    let policy = Spec::parse(spec)?.policy(geometry, seed)?;
    Ok(Cache::new(geometry, policy))
}
