//! Arbitrary looks at a service.

use std::time::Duration;

use proptest::prelude::*;
use terrace_policy::control::Seen;

/// Makes looks of either kind.
pub fn looks() -> impl Strategy<Value = Vec<Seen>> {
    prop_oneof![wild(), calm()]
}

/// Looks with arbitrary gaps, sizes and stalls, of which many are about as long as allowed.
fn wild() -> impl Strategy<Value = Vec<Seen>> {
    let gap = prop_oneof![6 => Just(500), 2 => 0..3000_u64, 1 => 0..100_000_u64];
    let stalled = prop_oneof![
        5 => Just(0),
        3 => 0..30_000_u64,
        1 => 0..2_000_000_u64,
    ];
    let look = (gap, 0..1_u64 << 34, 0..1_u64 << 34, stalled, any::<bool>());
    prop::collection::vec(look, 1..300).prop_map(in_order)
}

/// Looks at a service of one size, small ones among them, that seldom stalls, and of which a little
/// leaves or comes back in between.
fn calm() -> impl Strategy<Value = Vec<Seen>> {
    let gap = prop_oneof![20 => Just(500), 1 => Just(0), 1 => 0..100_000_u64];
    let stalled = prop_oneof![
        40 => Just(0),
        4 => 0..20_000_u64,
        1 => 0..200_000_u64,
    ];
    let look = (gap, -4..=4_i64, stalled, prop::bool::weighted(0.02));
    let pages = prop_oneof![1..200_u64, 1..1_u64 << 22];
    (pages, -1..=1_i64, prop::collection::vec(look, 1..300)).prop_map(|(pages, trend, looks)| {
        let all = pages * 4096;
        let mut swapped = 0;
        let looks = looks.into_iter().map(|(gap, moved, stalled, short)| {
            let moved = (moved + 3 * trend) * (all / 512) as i64;
            swapped = (swapped + moved).clamp(0, all as i64);
            (gap, all - swapped as u64, swapped as u64, stalled, short)
        });
        in_order(looks.collect())
    })
}

/// Makes looks of gaps in milliseconds, sizes, microseconds of stalls, and whether it is short.
fn in_order(looks: Vec<(u64, u64, u64, u64, bool)>) -> Vec<Seen> {
    let mut time = Duration::ZERO;
    let seen = looks
        .into_iter()
        .map(|(gap, resident, swapped, stalled, short)| {
            time += Duration::from_millis(gap);
            Seen {
                time,
                resident,
                swapped,
                stalled: Duration::from_micros(stalled),
                written: 0,
                short,
            }
        });
    seen.collect()
}
