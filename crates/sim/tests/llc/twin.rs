//! The fast hierarchy against the slow one, on random traces and odd sizes.

use proptest::prelude::*;
use terrace_sim::llc::Outcome;
use terrace_trace::Access;

use crate::replay::{Replay, accesses, settings, shape, simulate};
use crate::slow::{Asked, Cores, Found, Kind, Shared};

/// A row as the slow model has it.
fn asked(line: u64, row: &Access) -> Asked {
    Asked {
        core: row.thread,
        instruction: row.instruction,
        ip: row.ip,
        line: (row.process, row.address / line),
        kind: match (row.write, row.size) {
            (true, _) => Kind::WriteBack,
            (false, 0) => Kind::Store,
            (false, _) => Kind::Load,
        },
    }
}

fn found(outcome: &Outcome) -> Found {
    let counts = &outcome.counts;
    Found {
        hits: counts.hits(),
        misses: counts.misses(),
        writeback_misses: counts.writeback_misses(),
        clean_evictions: counts.clean_evictions,
        dirty_evictions: counts.dirty_evictions,
        dirtied: counts.dirtied,
        positions: outcome
            .positions
            .clone()
            .unwrap_or_else(|| vec![0; outcome.geometry.ways]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_fast_hierarchy_finds_what_the_slow_one_does(
        accesses in accesses(),
        block in 1..50_usize,
        first in prop::option::of(shape()),
        second in prop::option::of(shape()),
        llc in (1..6_usize, 1..9_usize),
        line in prop::sample::select(vec![16_u64, 64, 256]),
        cores in 1..5_u16,
        high in 0..9_usize,
        low_insertion in any::<bool>(),
        lru in any::<bool>(),
    ) {
        let high = if lru { llc.1 } else { high.min(llc.1) };
        let low_insertion = low_insertion && !lru;
        let insert = if low_insertion { "lh" } else { "mru" };
        let policy = match lru {
            true => "lru".to_owned(),
            false => format!("nhm:n={high},insert={insert}"),
        };
        let mut settings = settings(line, [first, second], llc, &[&policy]);
        if cores > 1 {
            // Without time, threads keep to the order of the trace.
            settings.memories.clear();
        }
        let replay = Replay::new(accesses, block);
        let ran = simulate(&settings, &[&replay], cores.into());

        let mut slow = Cores::new(line, [first, second], cores);
        let mut shared = Shared::new(llc, high, low_insertion);
        let (mut requests, mut traffic) = (Vec::new(), Vec::new());
        for access in &replay.accesses {
            for asked in slow.access(access) {
                requests.push(asked);
                traffic.extend(shared.ask(&asked));
            }
        }
        let rows = |rows: &[Access]| rows.iter().map(|row| asked(line, row)).collect::<Vec<_>>();
        prop_assert_eq!(rows(&ran.requests), requests);
        prop_assert_eq!(rows(&ran.traffic), traffic);
        let outcome = &ran.pass.outcomes[0];
        prop_assert_eq!(found(outcome), shared.found.clone());
        prop_assert_eq!(outcome.dirty_at_end, shared.dirty());
    }
}
