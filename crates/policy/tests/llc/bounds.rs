//! Bounds of reads and writes of memory: the fewest of all choices lie between them, and no policy
//! is below.

use std::collections::BTreeMap;

use proptest::prelude::*;
use terrace_policy::llc::{Geometry, Kind, REGISTRY, Request, bounds};

use crate::requests::{cache, geometry, requests};

/// Returns the fewest reads and writes of memory from request `from` on of a cache of one set, by
/// following all choices: which line goes, or that none is put in, after each request.
fn fewest(requests: &[Request], ways: usize, from: usize) -> u64 {
    let mut states = vec![(BTreeMap::new(), 0)];
    for (at, request) in requests.iter().enumerate() {
        let counts = u64::from(at >= from);
        let writes = request.kind.writes();
        let mut after: Vec<(BTreeMap<u64, bool>, u64)> = Vec::new();
        for (held, cost) in states {
            let mut with: BTreeMap<u64, bool> = held.clone();
            let dirty = with.entry(request.line).or_default();
            *dirty |= writes;
            let read = u64::from(!writes && !held.contains_key(&request.line)) * counts;
            // Any line may go, the requested one too; all that are over have to.
            let mut choices = vec![(with.clone(), cost + read)];
            for (line, dirty) in &with {
                let mut kept = with.clone();
                kept.remove(line);
                choices.push((kept, cost + read + u64::from(*dirty) * counts));
            }
            for (held, cost) in choices.into_iter().filter(|(held, _)| held.len() <= ways) {
                match after.iter_mut().find(|(other, _)| *other == held) {
                    Some((_, least)) => *least = cost.min(*least),
                    None => after.push((held, cost)),
                }
            }
        }
        states = after;
    }
    states.into_iter().map(|(_, cost)| cost).min().unwrap()
}

fn few() -> impl Strategy<Value = Vec<Request>> {
    let request = (0u64..5, any::<bool>()).prop_map(|(line, writes)| Request {
        line,
        ip: 0,
        core: 0,
        kind: if writes { Kind::WriteBack } else { Kind::Load },
    });
    prop::collection::vec(request, 0..14)
}

/// By hand: two lines, one way. Both are read twice and 1 is dirty; whichever is kept, the other is
/// read again, and if that is line 0, line 1 is spared its write as well.
#[test]
fn what_is_dirty_is_worth_more() {
    let request = |line, kind| Request {
        line,
        ip: 0,
        core: 0,
        kind,
    };
    let load = |line| request(line, Kind::Load);
    let requests = [load(0), request(1, Kind::WriteBack), load(0), load(1)];
    let geometry = Geometry { sets: 1, ways: 1 };
    let found = bounds(geometry, requests.into_iter(), 0);
    assert_eq!((found.least, found.reached), (2, 2));
}

proptest! {
    #[test]
    fn the_fewest_lie_between(requests in few(), ways in 1..4usize, from in 0..6usize) {
        let geometry = Geometry { sets: 1, ways };
        let found = bounds(geometry, requests.iter().copied(), from);
        let fewest = fewest(&requests, ways, from);
        prop_assert!(found.least <= fewest && fewest <= found.reached, "{:?} {}", found, fewest);
    }

    #[test]
    fn no_policy_is_below(geometry in geometry(), requests in requests(), seed: u64) {
        let found = bounds(geometry, requests.iter().copied(), 0);
        prop_assert!(found.least <= found.reached);
        for entry in REGISTRY {
            let mut cache = cache(geometry, entry.name, seed).unwrap();
            cache.foresee(&mut requests.iter().copied());
            for request in &requests {
                cache.access(request);
            }
            let counts = cache.tags().counts();
            let transfers = counts.reads() + counts.writebacks();
            prop_assert!(found.least <= transfers, "{}: {:?} {}", entry.name, found, transfers);
        }
    }
}
