//! A pool with a journal that is so small that it is full now and then.

use terrace_heap::medium::simulated::Granule;
use terrace_heap::{AllocatorKind, Place};

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, random, run};

/// Objects that are changed in part and as a whole.
struct Objects {
    heap: SimulatedHeap,
    at: Vec<Place<[u64; WORDS]>>,
}

const OBJECTS: usize = 3;
const WORDS: usize = 128;

#[derive(Clone, Debug)]
enum Op {
    /// One word of an object.
    Set(usize, u64),
    /// All words of an object, by one transaction.
    Fill(usize, u64),
    /// The pool becomes larger.
    Grow,
}
use Op::{Fill, Grow, Set};

impl Subject for Objects {
    type Op = Op;
    type State = Vec<(u64, u64)>;

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        let place = |i| {
            let place: Place<[u64; WORDS]> = heap.root(&format!("object {i}"), 0).unwrap();
            if heap.read(place).unwrap().is_null() {
                heap.publish(place, &[0; WORDS]).unwrap();
            }
            place
        };
        let at = (0..OBJECTS).map(place).collect();
        let heap = heap.clone();
        Self { heap, at }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Set(i, value) => {
                let object = self.heap.read(self.at[i]).unwrap();
                self.heap.set(object.cast(), value).unwrap();
            }
            Fill(i, value) => {
                let object = self.heap.read(self.at[i]).unwrap();
                self.heap
                    .transaction(|tx| tx.write(object, &[value; WORDS]))
                    .unwrap();
            }
            Grow => self.heap.grow(self.heap.len() + (64 << 10)).unwrap(),
        }
    }

    /// The first word and the last of each.
    fn state(&self) -> Self::State {
        let both = |place: Place<[u64; WORDS]>| {
            let all = self.heap.read(self.heap.read(place).unwrap()).unwrap();
            (all[0], all[WORDS - 1])
        };
        self.at.iter().map(|&place| both(place)).collect()
    }

    fn objects(&self) -> Vec<u64> {
        let at = |&place: &Place<[u64; WORDS]>| self.heap.read(place).unwrap().offset();
        self.at.iter().map(at).collect()
    }

    fn model(state: &mut Self::State, op: &Op) {
        match *op {
            Set(i, value) => state[i].0 = value,
            Fill(i, value) => state[i] = (value, value),
            Grow => {}
        }
    }
}

const EFFORT: Effort = Effort {
    pool: 256 << 10,
    allocator: AllocatorKind::Nvwa,
    granule: Granule::Sector,
    journal: true,
    checksums: false,
    images: 12,
    again: 1,
    seed: 1,
    sparse: false,
};

#[test]
fn crashes_of_a_short_program() {
    let ops = [
        (0, Set(0, 1)),
        (0, Set(0, 2)),
        (1, Set(0, 3)),
        (1, Fill(1, 4)),
        (0, Set(1, 5)),
        (0, Fill(2, 6)),
        (2, Fill(0, 7)),
        (2, Grow),
        (1, Fill(2, 8)),
        (0, Set(2, 9)),
    ];
    // Many crashes, and few but many of the recovery from each.
    for (granule, images, again) in [
        (Granule::Sector, 60, 0),
        (Granule::Page, 60, 0),
        (Granule::Sector, 4, 16),
    ] {
        let effort = Effort {
            granule,
            images,
            again,
            ..EFFORT
        };
        run::<Objects>(&ops, effort);
    }
}

/// The journal is full many times.
#[test]
fn a_sample_of_a_long_program() {
    let mut next = random(11);
    let ops: Vec<_> = (0..80)
        .map(|value| {
            let i = next(OBJECTS as u64) as usize;
            let op = match next(3) {
                0 => Fill(i, value),
                _ => Set(i, value),
            };
            (next(3) as usize, op)
        })
        .collect();
    run::<Objects>(&ops, EFFORT);
    let again = 0;
    run::<Objects>(
        &ops,
        Effort {
            again,
            granule: Granule::Page,
            ..EFFORT
        },
    );
}
