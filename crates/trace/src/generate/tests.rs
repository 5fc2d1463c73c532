//! Properties of all kernels.

use std::collections::BTreeSet;

use super::testing::{accesses, settings};
use super::*;
use crate::{Block, Bytes, Result, Source};

/// A kernel by its name, and how to make its trace.
type Entry = (&'static str, fn(&KernelSettings) -> Result<Box<dyn Source>>);

const KINDS: [Entry; 10] = [
    ("sequential", |s| Sequential { writes: 30 }.source(s)),
    ("strided", |s| {
        let stride = Bytes(4160);
        Strided { stride, writes: 30 }.source(s)
    }),
    ("zipf", |s| {
        let kind = Zipf {
            exponent: 0.9,
            item: Bytes(4096),
            in_order: false,
            writes: 30,
        };
        kind.source(s)
    }),
    ("chase", |s| Chase { node: Bytes(64) }.source(s)),
    ("gups", |s| Gups.source(s)),
    ("matmul", |s| Matmul { block: 32 }.source(s)),
    ("stencil", |s| Stencil.source(s)),
    ("join", |s| Join { probes: 4 }.source(s)),
    ("bfs", |s| Bfs { degree: 16 }.source(s)),
    ("postmark", |s| {
        let kind = Postmark {
            least: Bytes(2000),
            most: Bytes(4096),
            transactions: u64::MAX,
            processes: 1,
            reads: 80,
            creations: 60,
        };
        kind.source(s)
    }),
];

const FOOTPRINT: u64 = 1 << 20;

#[test]
fn the_limit_is_exact_and_the_columns_are_full() {
    for (name, make) in KINDS {
        let mut source = make(&settings(50_001, FOOTPRINT, 1)).unwrap();
        assert_eq!(source.meta().about[0], ("kind".into(), name.into()));
        let (mut block, mut total) = (Block::default(), 0);
        loop {
            source.read(&mut block).unwrap();
            let len = block.len();
            let lens = [
                block.instruction.len(),
                block.ip.len(),
                block.process.len(),
                block.thread.len(),
                block.size.len(),
                block.write.len(),
            ];
            assert_eq!(lens, [len; 6], "{name}");
            total += len;
            if len == 0 {
                break;
            }
        }
        assert_eq!(total, 50_001, "{name}");
    }
}

#[test]
fn the_footprint_is_kept_and_used() {
    // Small, so that the product ends.
    const FOOTPRINT: u64 = 1 << 16;
    for (name, make) in KINDS {
        let all = accesses(make(&settings(1_000_000, FOOTPRINT, 1)).unwrap());
        let lines: BTreeSet<u64> = all.iter().map(|a| a.address / 64).collect();
        let bytes = lines.len() as u64 * 64;
        // Four arrays may each reach into a line that their neighbours do not share.
        assert!(bytes <= FOOTPRINT + 4 * 64, "{name}: {bytes}");
        assert!(bytes >= FOOTPRINT / 2, "{name}: {bytes}");
        let last = all.iter().map(|a| a.address + u64::from(a.size)).max();
        assert!(last <= Some(testing::HEAP + FOOTPRINT + 4 * 4096), "{name}");
    }
}

#[test]
fn instructions_go_on_and_their_addresses_are_few() {
    for (name, make) in KINDS {
        let all = accesses(make(&settings(50_000, FOOTPRINT, 1)).unwrap());
        assert!(all.windows(2).all(|w| w[0].instruction < w[1].instruction));
        let sites: BTreeSet<u64> = all.iter().map(|a| a.ip).collect();
        assert!(sites.len() <= 11, "{name}: {sites:?}");
        // A site either loads or stores.
        let kinds: BTreeSet<(u64, bool)> = all.iter().map(|a| (a.ip, a.write)).collect();
        assert_eq!(kinds.len(), sites.len(), "{name}");
    }
}

#[test]
fn the_seed_decides() {
    for (name, make) in KINDS {
        let of = |seed| accesses(make(&settings(20_000, FOOTPRINT, seed)).unwrap());
        assert_eq!(of(1), of(1), "{name}");
        let drawn = !["matmul", "stencil"].contains(&name);
        assert_eq!(of(1) != of(2), drawn, "{name}");
    }
}

/// The traces of seed 1 as they were first made, on every machine and in every version: FNV-1a over
/// addresses, instructions and stores. A change here changes the workloads of all users.
#[test]
fn the_traces_stay() {
    let hashes = KINDS.map(|(name, make)| {
        let all = accesses(make(&settings(100_000, FOOTPRINT, 1)).unwrap());
        let words = all
            .iter()
            .flat_map(|a| [a.address, a.instruction, u64::from(a.write)]);
        let hash = words.fold(0xcbf2_9ce4_8422_2325_u64, |hash, word| {
            (hash ^ word).wrapping_mul(0x0100_0000_01b3)
        });
        (name, hash)
    });
    let expected = [
        ("sequential", 11547764613936363499),
        ("strided", 6865499197973446075),
        ("zipf", 14090820281662776699),
        ("chase", 1769285868695164485),
        ("gups", 838118487425569125),
        ("matmul", 16292436377014530637),
        ("stencil", 15847948328245983671),
        ("join", 4177266630583385434),
        ("bfs", 18190472013609420309),
        ("postmark", 4581754248191434365),
    ];
    assert_eq!(hashes, expected);
}

#[test]
fn absurd_settings_are_refused() {
    for (name, make) in KINDS {
        for (settings, why) in [
            (settings(0, FOOTPRINT, 1), "0 accesses"),
            (settings(1, 1, 1), "too small"),
            (settings(1, 1 << 60, 1), "too large"),
        ] {
            let error = make(&settings).err().expect(name).to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}

/// The smallest footprint that each takes makes a trace, and nothing panics just below it.
#[test]
fn the_smallest_footprint_works() {
    for (name, make) in KINDS {
        let least = (1..20_000).find(|bytes| make(&settings(1000, *bytes, 1)).is_ok());
        let least = least.expect(name);
        let all = accesses(make(&settings(1000, least, 1)).unwrap());
        assert!(!all.is_empty(), "{name}");
    }
}
