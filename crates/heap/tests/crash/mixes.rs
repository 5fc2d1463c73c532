//! Random programs over all containers at once: single operations, transactions, transactions
//! within transactions (some fail), growth and compaction.
//!
//! `TERRACE_MIXES` says how many programs there are of each kind (1 unless told).

use std::env;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use terrace_heap::medium::simulated::Granule;

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, random, run_in};
use crate::oracle::containers::Containers;
use crate::oracle::mix::{Habits, Model, Op, program};

/// Operations of a program.
const OPS: usize = 40;
/// Bytes of a chunk, and chunks: a pool that is soon full, and a roomy one.
const CHUNKS: [u64; 3] = [4 << 10, 16 << 10, 64 << 10];
const POOLS: [u64; 2] = [34, 100];
const LANES: [u16; 3] = [1, 2, 4];

/// Operations for which there was no room.
static REFUSED: AtomicU64 = AtomicU64::new(0);

impl Subject for Containers<Memory> {
    type Op = Op;
    type State = Model;

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        Containers::open(heap).unwrap()
    }

    fn apply(&mut self, op: &Op) {
        self.attempt(op);
    }

    fn attempt(&mut self, op: &Op) -> bool {
        let done = Containers::apply(self, op).unwrap();
        REFUSED.fetch_add(u64::from(op.happens() && !done), Relaxed);
        done
    }

    fn go_on(&mut self, mut state: Model) {
        let habits = Habits {
            keys: 4,
            longest: 100,
            pool: 0,
            growths: 0,
        };
        for op in program(state.words.len() as u64, habits).take(4) {
            if self.attempt(&op) {
                state.apply(&op);
            }
        }
        assert_eq!(Subject::state(self), state, "what goes on after a crash");
    }

    fn state(&self) -> Model {
        Containers::state(self).unwrap()
    }

    fn objects(&self) -> Vec<u64> {
        Containers::objects(self).unwrap()
    }

    fn model(state: &mut Model, op: &Op) {
        state.apply(op);
    }
}

/// How many programs there are of each kind.
fn programs() -> u64 {
    env::var("TERRACE_MIXES").map_or(1, |programs| programs.parse().unwrap())
}

/// Runs a program in which threads of all lanes take turns.
fn run(seed: u64, geometry: (u64, u16), effort: Effort, longest: u64) {
    let habits = Habits {
        keys: 12,
        longest,
        pool: effort.pool / CHUNKS[0] * geometry.0,
        growths: 2,
    };
    let mut next = random(seed);
    let mut lane = || next(geometry.1.into()) as usize;
    let ops: Vec<_> = program(seed, habits)
        .take(OPS)
        .map(|op| (lane(), op))
        .collect();
    run_in::<Containers<Memory>>(&ops, geometry, effort);
}

/// In each geometry, with all that is on the way to the medium: records, intents and logs.
fn mixes(effort: Effort, images: impl Fn(u64) -> u64) {
    let mut seed = 0;
    for (chunk, pool) in CHUNKS
        .iter()
        .flat_map(|chunk| POOLS.map(|pool| (*chunk, pool)))
    {
        for lanes in LANES {
            for _ in 0..programs() {
                seed += 1;
                let effort = Effort {
                    pool: pool * CHUNKS[0],
                    images: images(chunk),
                    seed,
                    ..effort
                };
                let longest = if pool == POOLS[0] { 8 } else { 1 };
                run(seed, (chunk, lanes), effort, longest * chunk);
            }
        }
    }
}

#[test]
fn crashes_of_programs_over_all_containers() {
    let images = |chunk| if chunk == CHUNKS[0] { 6 } else { 3 };
    mixes(Effort::default(), images);
    assert!(REFUSED.load(Relaxed) > 0, "no pool was full");
}

#[test]
fn crashes_of_programs_on_a_plain_file() {
    let effort = Effort {
        journal: true,
        granule: Granule::Sector,
        sparse: true,
        ..Effort::default()
    };
    mixes(effort, |_| 3);
}

/// Recovery is interrupted, too.
#[test]
fn crashes_of_recovery_from_programs() {
    for seed in 0..4 * programs() {
        let effort = Effort {
            pool: POOLS[seed as usize % 2] * CHUNKS[0],
            images: 2,
            again: 2,
            seed,
            journal: seed % 4 == 3,
            ..Effort::default()
        };
        run(1000 + seed, (CHUNKS[0], 3), effort, 3000);
    }
}
