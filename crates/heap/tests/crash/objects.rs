//! Objects published to roots, freed, and words changed: the allocator's log and the intents.

use terrace_heap::medium::simulated::Granule;
use terrace_heap::{AllocatorKind, Place, Ptr};

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, random, run};

/// An object of 80 bytes, which lies in two lines.
type Value = [u64; 10];

/// Places for objects, and a word.
struct Objects {
    heap: SimulatedHeap,
    places: Vec<Place<Value>>,
    word: Place<u8>,
}

#[derive(Clone, Debug)]
enum Op {
    Publish(usize, u64),
    Free(usize),
    Set(u64),
    Compact,
}
use Op::{Compact, Free, Publish, Set};

impl Subject for Objects {
    type Op = Op;
    type State = (Vec<Option<Value>>, u64);

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        let place = |i| heap.root(&format!("place {i}"), 0).unwrap();
        Self {
            places: (0..3).map(place).collect(),
            word: heap.root("word", 0).unwrap(),
            heap: heap.clone(),
        }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Publish(i, value) => drop(self.heap.publish(self.places[i], &[value; 10]).unwrap()),
            Free(i) => self.heap.free(self.places[i]).unwrap(),
            Set(value) => self.heap.set(self.word.cast(), value).unwrap(),
            Compact => drop(self.heap.compact().unwrap()),
        }
    }

    fn state(&self) -> Self::State {
        let read = |&place: &Place<Value>| {
            let pointer = self.heap.read(place).unwrap();
            (!pointer.is_null()).then(|| self.heap.read(pointer).unwrap())
        };
        let word: Ptr<u64> = self.word.cast();
        (
            self.places.iter().map(read).collect(),
            self.heap.read(word).unwrap(),
        )
    }

    fn objects(&self) -> Vec<u64> {
        let pointers = self
            .places
            .iter()
            .map(|&place| self.heap.read(place).unwrap());
        pointers.filter(|p| !p.is_null()).map(Ptr::offset).collect()
    }

    fn model((places, word): &mut Self::State, op: &Op) {
        match *op {
            Publish(i, value) => places[i] = Some([value; 10]),
            Free(i) => places[i] = None,
            Set(value) => *word = value,
            Compact => {}
        }
    }
}

/// Each operation after each other one, in the same lane and in another.
fn short() -> Vec<(usize, Op)> {
    let ops = [
        (0, Publish(0, 1)),
        (0, Free(0)),
        (1, Publish(0, 2)),
        (1, Set(1)),
        (0, Set(2)),
        (0, Free(0)),
        (1, Publish(1, 3)),
        (0, Publish(0, 4)),
        (1, Free(0)),
        (1, Free(1)),
        (0, Publish(1, 5)),
        (0, Publish(2, 6)),
        (2, Free(1)),
        (2, Free(2)),
        (2, Publish(2, 7)),
        (0, Set(3)),
        (0, Set(4)),
        (1, Set(5)),
        (0, Free(2)),
    ];
    ops.to_vec()
}

/// Each lane has a chunk of records, where one is enough; what was in doubt is not any more.
#[test]
fn every_crash_of_compaction() {
    let ops = [
        (0, Publish(0, 1)),
        (1, Publish(1, 2)),
        (2, Publish(2, 3)),
        (2, Free(0)),
        (0, Compact),
        (1, Publish(0, 4)),
        (2, Free(1)),
        (0, Free(2)),
        (2, Compact),
        (2, Publish(1, 5)),
    ];
    let effort = Effort {
        again: 100,
        ..Effort::default()
    };
    let looked = run::<Objects>(&ops, effort);
    assert!(looked.exhaustive, "{looked:?}");
}

#[test]
fn every_crash_of_a_short_program() {
    let looked = run::<Objects>(&short(), Effort::default());
    assert!(looked.exhaustive && looked.images > 1000, "{looked:?}");
}

#[test]
fn every_crash_during_the_recovery_from_every_crash() {
    let effort = Effort {
        again: u64::MAX,
        ..Effort::default()
    };
    let looked = run::<Objects>(&short(), effort);
    assert!(looked.again > looked.images, "{looked:?}");
}

#[test]
fn sectors_and_pages() {
    for granule in [Granule::Sector, Granule::Page] {
        let effort = Effort {
            granule,
            again: 20,
            ..Effort::default()
        };
        let looked = run::<Objects>(&short(), effort);
        assert!(looked.exhaustive, "{looked:?}");
    }
}

/// Long enough that records, intents and slots are used again.
#[test]
fn a_sample_of_a_long_program() {
    let mut next = random(7);
    let mut full = [false; 3];
    let ops: Vec<_> = (0..200)
        .map(|value| {
            let i = next(3) as usize;
            let op = match next(4) {
                0 if value % 10 == 0 => Compact,
                0 => Set(value),
                _ if full[i] => Free(i),
                _ => Publish(i, value),
            };
            if !matches!(op, Set(_) | Compact) {
                full[i] = !full[i];
            }
            (next(3) as usize, op)
        })
        .collect();
    let effort = Effort {
        images: 40,
        again: 2,
        ..Effort::default()
    };
    run::<Objects>(&ops, effort);
}

/// All that the naive allocator keeps is in the pool, and recovered.
#[test]
fn every_crash_with_the_naive_allocator() {
    let effort = Effort {
        allocator: AllocatorKind::Naive,
        again: 2,
        ..Effort::default()
    };
    let looked = run::<Objects>(&short(), effort);
    assert!(looked.exhaustive && looked.images > 1000, "{looked:?}");
    for granule in [Granule::Sector, Granule::Page] {
        let effort = Effort { granule, ..effort };
        assert!(run::<Objects>(&short(), effort).exhaustive);
    }
}
