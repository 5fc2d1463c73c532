//! An object that is changed directly, past the heap, between operations that name the same words.

use terrace_heap::medium::simulated::Granule;
use terrace_heap::{Medium, Place, Ptr};

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, run};

struct Object {
    heap: SimulatedHeap,
    memory: Memory,
    place: Place<u8>,
}

#[derive(Clone, Debug)]
enum Op {
    /// By the heap.
    Publish,
    /// In a transaction, filled directly before it is committed.
    Fill(u64),
    /// A word, by an operation or directly.
    Set(usize, u64),
    Direct(usize, u64),
    Free,
}
use Op::{Direct, Fill, Free, Publish, Set};

/// Words of the object, in two lines.
const WORDS: usize = 10;

impl Object {
    fn word(&self, i: usize) -> u64 {
        self.heap.read(self.place).unwrap().offset() + 8 * i as u64
    }

    fn fill(&self, value: u64) {
        let tx = self.heap.begin().unwrap();
        let object = tx.alloc_zeros(8 * WORDS as u64).unwrap();
        for i in 0..WORDS as u64 {
            self.memory.store_word(object.offset() + 8 * i, value);
        }
        tx.write(self.place, &object).unwrap();
        tx.commit().unwrap();
    }
}

impl Subject for Object {
    type Op = Op;
    type State = Option<[u64; WORDS]>;

    fn open(heap: &SimulatedHeap, memory: &Memory) -> Self {
        Self {
            heap: heap.clone(),
            memory: memory.clone(),
            place: heap.root::<u8>("object", 0).unwrap(),
        }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Publish => drop(
                self.heap
                    .publish_zeros(self.place, 8 * WORDS as u64)
                    .unwrap(),
            ),
            Fill(value) => self.fill(value),
            Set(i, value) => self.heap.set(Ptr::at(self.word(i)), value).unwrap(),
            Direct(i, value) => {
                let at = self.word(i);
                self.memory.store_word(at, value);
                self.heap.persist(at + 3, 2).unwrap();
            }
            Free => self.heap.free(self.place).unwrap(),
        }
    }

    fn state(&self) -> Self::State {
        let pointer = self.heap.read(self.place).unwrap();
        (!pointer.is_null()).then(|| self.heap.read(pointer.cast()).unwrap())
    }

    fn objects(&self) -> Vec<u64> {
        let pointer = self.heap.read(self.place).unwrap();
        let there = (!pointer.is_null()).then(|| pointer.offset());
        there.into_iter().collect()
    }

    fn model(state: &mut Self::State, op: &Op) {
        match *op {
            Publish => *state = Some([0; WORDS]),
            Fill(value) => *state = Some([value; WORDS]),
            Set(i, value) | Direct(i, value) => state.as_mut().unwrap()[i] = value,
            Free => *state = None,
        }
    }
}

#[test]
fn every_crash_of_a_short_program() {
    let ops = [
        (0, Publish),
        (0, Direct(0, 1)),
        (0, Set(0, 2)),
        (0, Direct(0, 3)),
        (1, Set(9, 4)),
        (0, Direct(9, 5)),
        (1, Set(0, 6)),
        (1, Set(1, 7)),
        (1, Direct(0, 8)),
        (2, Free),
        (0, Fill(9)),
        (0, Direct(4, 10)),
        (1, Direct(9, 11)),
        (0, Free),
        (0, Fill(12)),
        (1, Direct(0, 13)),
        (1, Set(0, 14)),
        (1, Set(1, 15)),
        (0, Direct(0, 16)),
    ];
    let effort = Effort {
        images: 50_000,
        again: 3,
        ..Effort::default()
    };
    let looked = run::<Object>(&ops, effort);
    assert!(looked.exhaustive, "{looked:?}");
    for granule in [Granule::Sector, Granule::Page] {
        let effort = Effort {
            granule,
            images: 500,
            ..effort
        };
        run::<Object>(&ops, effort);
    }
}
