//! The fast way of placing beside the slow one, on traces of any objects and accesses.

use proptest::prelude::*;
use terrace_base::Bytes;
use terrace_policy::llc::Spec;
use terrace_policy::placement::{Evaluation, climb};
use terrace_sim::llc::{Llc, LlcMachine, Size};
use terrace_sim::place::{
    Incremental, Memories, Memory, PlaceMachine, Recording, place, profile, whole,
};
use terrace_trace::allocation::{Allocations, Call, Object, Site};
use terrace_trace::{Access, Block, create};

const SITES: usize = 5;
/// Distance of objects; each is smaller.
const SLOT: u64 = 1 << 16;

/// An access: the slot, the line within it, whether it stores, and the instructions before it.
type Touch = (u64, u64, bool, u64);
/// An object: the row before which it begins, its rows, its site and its lines. Slots are used in
/// turn.
type Life = (u64, Option<u64>, u32, u64);

fn machine() -> PlaceMachine {
    let memory = |name: &str, latency, transfer| Memory {
        name: name.to_owned(),
        latency,
        transfer,
    };
    let size = |bytes, ways| Size {
        bytes: Bytes(bytes),
        ways,
    };
    let mut caches = LlcMachine::table_2_1(1, Vec::new());
    caches.private = [Some(size(1024, 2)), None];
    caches.llcs = vec![Llc {
        size: size(4096, 4),
        policy: Spec::parse("lru").unwrap(),
    }];
    let memories = Memories {
        fast: memory("fast", 40_000, 3000),
        slow: memory("slow", 70_000, 15_000),
    };
    PlaceMachine { caches, memories }
}

/// Writes a trace; of two objects in one slot the later one begins where the earlier one ends.
fn recorded(touches: &[Touch], lives: &[Life], path: std::path::PathBuf) -> Recording {
    let mut block = Block::default();
    let mut instruction = 0;
    for &(slot, line, write, step) in touches {
        instruction += step;
        let address = SLOT * (1 + slot) + 64 * line;
        block.push(Access {
            instruction,
            address,
            size: 8,
            write,
            ..Access::default()
        });
    }
    let site = |number: usize| Site {
        stack: vec![Call {
            module: format!("/p{number}"),
            ..Call::default()
        }],
    };
    let mut objects: Vec<Object> = lives
        .iter()
        .enumerate()
        .map(|(slot, (began, rows, site, lines))| Object {
            began: *began,
            ended: rows.map(|rows| began + rows),
            process: 0,
            site: *site,
            address: SLOT * (1 + slot as u64 % 6),
            bytes: 64 * lines,
        })
        .collect();
    objects.sort_by_key(|object| object.began);
    let mut sink = create(&path, &[]).unwrap();
    sink.write(&block).unwrap();
    sink.allocations(Allocations {
        sites: (0..SITES).map(site).collect(),
        objects,
    });
    sink.finish().unwrap();
    Recording { path, limit: None }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_a_site_changes_is_what_a_run_shows(
        touches in prop::collection::vec((0..8_u64, 0..40_u64, any::<bool>(), 0..60_u64), 1..600),
        lives in prop::collection::vec(
            (0..400_u64, prop::option::of(0..300_u64), 0..SITES as u32, 1..60_u64), 1..10,
        ),
        toggles in prop::collection::vec(0..SITES, 0..6),
        fast in 0..12_000_u64,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let recording = recorded(&touches, &lives, directory.path().join("a.parquet"));
        let machine = machine();
        let profile = profile(&recording, &machine, |_| ()).unwrap();
        let accesses: u64 = profile.sites.iter().map(|site| site.accesses).sum();
        prop_assert!(accesses <= touches.len() as u64 && profile.accesses == touches.len() as u64);

        let mut evaluation = Incremental::new(&profile, &machine.memories);
        let mut placed = [false; SITES];
        prop_assert_eq!(evaluation.time(), whole::run(&recording, &machine, &placed).unwrap());
        for site in toggles {
            placed[site] = !placed[site];
            evaluation.toggle(site);
            prop_assert_eq!(evaluation.time(), whole::run(&recording, &machine, &placed).unwrap());
        }

        let found = place(&profile, &machine.memories, fast);
        let slowly = whole::climb_by_runs(&recording, &machine, &found.room).unwrap();
        prop_assert_eq!(&found.climbed, &slowly);
        let best = found.best.unwrap();
        prop_assert!(best.time <= found.climbed.time && best.time <= found.packed.time);
        let again = climb(&found.room, &mut Incremental::new(&profile, &machine.memories));
        prop_assert_eq!(again, slowly);
    }
}
