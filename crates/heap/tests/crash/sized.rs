//! Objects that become larger and smaller, and roots that come and go.

use terrace_heap::medium::simulated::Granule;
use terrace_heap::{Place, Ptr};

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, run, run_in_smallest};

struct Sized {
    heap: SimulatedHeap,
}

/// Sizes are those of slots, so that nothing is left of what was there before.
#[derive(Clone, Debug)]
enum Op {
    Name(usize),
    Publish(usize, usize, u64),
    Resize(usize, usize),
    Free(usize),
    Remove(usize),
}
use Op::{Free, Name, Publish, Remove, Resize};

const NAMES: [&str; 3] = ["a", "b", "c"];

impl Sized {
    fn place(&self, i: usize) -> Place<u8> {
        self.heap.root::<[u8; 0]>(NAMES[i], 0).unwrap().cast()
    }
}

impl Subject for Sized {
    type Op = Op;
    /// Returns for each existing root what it points to.
    type State = [Option<Option<Vec<u64>>>; 3];

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        Self { heap: heap.clone() }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Name(i) => drop(self.place(i)),
            Publish(i, bytes, value) => {
                let words = vec![value; bytes / 8];
                let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
                self.heap.publish_bytes(self.place(i), &bytes).unwrap();
            }
            Resize(i, bytes) => drop(self.heap.resize(self.place(i), bytes as u64).unwrap()),
            Free(i) => self.heap.free(self.place(i)).unwrap(),
            Remove(i) => assert_eq!(self.heap.remove_root(NAMES[i]), Ok(true)),
        }
    }

    fn state(&self) -> Self::State {
        let roots = self.heap.roots().unwrap();
        NAMES.map(|name| {
            let root = roots.iter().find(|root| root.name == name)?;
            let object = self.heap.object(root.pointer).ok();
            Some(object.map(|object| {
                let words = (object.offset..object.offset + object.bytes).step_by(8);
                let read = |at| self.heap.read(Ptr::<u64>::at(at)).unwrap();
                words.map(read).collect()
            }))
        })
    }

    fn objects(&self) -> Vec<u64> {
        let pointers = self
            .heap
            .roots()
            .unwrap()
            .into_iter()
            .map(|root| root.pointer);
        pointers.filter(|p| !p.is_null()).map(Ptr::offset).collect()
    }

    fn model(state: &mut Self::State, op: &Op) {
        match *op {
            Name(i) => state[i] = Some(None),
            Publish(i, bytes, value) => state[i] = Some(Some(vec![value; bytes / 8])),
            Resize(i, bytes) => {
                let words = state[i].as_mut().and_then(Option::as_mut).unwrap();
                if bytes > words.len() * 8 || bytes <= words.len() * 4 {
                    words.resize(bytes / 8, 0);
                }
            }
            Free(i) => state[i] = Some(None),
            Remove(i) => state[i] = None,
        }
    }
}

/// Each operation after each other one that can follow, in the same lane and in another.
fn short() -> Vec<(usize, Op)> {
    vec![
        (0, Name(0)),
        (0, Publish(0, 48, 1)),
        (0, Resize(0, 80)),
        (1, Resize(0, 48)),
        (1, Resize(0, 128)),
        (0, Free(0)),
        (0, Remove(0)),
        (0, Name(1)),
        (1, Publish(1, 80, 2)),
        (1, Free(1)),
        (0, Remove(1)),
        (1, Name(0)),
        (1, Publish(0, 128, 3)),
        (1, Resize(0, 48)),
        (2, Free(0)),
        (2, Remove(0)),
        (2, Name(2)),
        (2, Remove(2)),
        (2, Name(0)),
        (2, Publish(0, 48, 4)),
        (2, Resize(0, 80)),
        (2, Free(0)),
    ]
}

#[test]
fn every_crash_of_a_short_program() {
    let effort = Effort {
        images: 20_000,
        ..Effort::default()
    };
    let looked = run::<Sized>(&short(), effort);
    assert!(looked.exhaustive && looked.images > 1000, "{looked:?}");
}

#[test]
fn crashes_of_recovery_and_larger_granules() {
    for granule in [Granule::Line, Granule::Sector, Granule::Page] {
        let effort = Effort {
            granule,
            images: 50,
            again: 4,
            ..Effort::default()
        };
        run::<Sized>(&short(), effort);
    }
}

/// Objects of whole chunks, in which their neighbours' records come to lie.
#[test]
fn crashes_of_large_objects() {
    let ops = [
        (0, Name(0)),
        (0, Name(1)),
        (0, Publish(0, 4096, 1)),
        (0, Resize(0, 12288)),
        (1, Publish(1, 48, 2)),
        (1, Resize(1, 8192)),
        (1, Resize(1, 48)),
        (0, Resize(0, 4096)),
        (0, Free(0)),
        (0, Remove(0)),
        (1, Resize(1, 4096)),
    ];
    for granule in [Granule::Line, Granule::Page] {
        let effort = Effort {
            pool: 128 << 10,
            granule,
            images: 30,
            again: 1,
            ..Effort::default()
        };
        run_in_smallest::<Sized>(&ops, effort);
    }
}
