//! Arbitrary looks at a service.

use std::time::Duration;

use proptest::prelude::*;
use terrace_policy::control::Seen;

/// Makes looks with arbitrary gaps, sizes and stalls, of which many are about as long as allowed.
pub fn looks() -> impl Strategy<Value = Vec<Seen>> {
    let gap = prop_oneof![6 => Just(500), 2 => 0..3000_u64, 1 => 0..100_000_u64];
    let stalled = prop_oneof![
        5 => Just(0),
        3 => 0..30_000_u64,
        1 => 0..2_000_000_u64,
    ];
    let look = (gap, 0..1_u64 << 34, 0..1_u64 << 34, stalled, any::<bool>());
    prop::collection::vec(look, 1..300).prop_map(|looks| {
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
    })
}
