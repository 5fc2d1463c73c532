//! The hash map: entries that come, change and go, alone and in batches, and its growth.

use std::collections::BTreeMap;

use terrace_heap::AllocatorKind;
use terrace_heap::containers::HashMap;
use terrace_heap::medium::simulated::Granule;

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, random, run};

type Map<const WORDS: usize> = HashMap<u64, [u64; WORDS], Memory>;

/// A map that begins with room for a number of entries, with values of a number of words.
pub struct Entries<const CAPACITY: u64, const WORDS: usize = 3> {
    heap: SimulatedHeap,
    /// It is always there, but while it is opened again.
    map: Option<Map<WORDS>>,
}

#[derive(Clone, Debug)]
pub enum Op {
    Insert(u64, u64),
    Remove(u64),
    Batch(Vec<Op>),
    /// The handle goes, and another one comes.
    Reopen,
}
use Op::{Batch, Insert, Remove, Reopen};

impl<const CAPACITY: u64, const WORDS: usize> Entries<CAPACITY, WORDS> {
    fn map(&self) -> &Map<WORDS> {
        self.map.as_ref().unwrap()
    }

    fn batch(&self, ops: &[Op]) {
        let work = self.heap.transaction(|tx| {
            let map = tx.open(self.map())?;
            ops.iter().try_for_each(|op| match op {
                Insert(key, value) => map.insert(key, &[*value; WORDS]).map(drop),
                Remove(key) => map.remove(key).map(drop),
                Batch(_) | Reopen => Ok(()),
            })
        });
        work.unwrap();
    }
}

impl<const CAPACITY: u64, const WORDS: usize> Subject for Entries<CAPACITY, WORDS> {
    type Op = Op;
    type State = BTreeMap<u64, [u64; WORDS]>;

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        Self {
            heap: heap.clone(),
            map: Some(Map::open_with_capacity(heap, "map", CAPACITY).unwrap()),
        }
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Insert(key, value) => drop(self.map().insert(key, &[*value; WORDS]).unwrap()),
            Remove(key) => drop(self.map().remove(key).unwrap()),
            Batch(ops) => self.batch(ops),
            Reopen => {
                self.map = None;
                self.map = Some(Map::open(&self.heap, "map").unwrap());
            }
        }
    }

    fn state(&self) -> Self::State {
        let all: Self::State = self.map().iter().map(Result::unwrap).collect();
        assert_eq!(self.map().len().unwrap(), all.len() as u64);
        for (key, value) in &all {
            assert_eq!(self.map().get(key).unwrap().as_ref(), Some(value));
        }
        all
    }

    fn objects(&self) -> Vec<u64> {
        self.map().objects().unwrap()
    }

    fn model(state: &mut Self::State, op: &Op) {
        match op {
            Insert(key, value) => drop(state.insert(*key, [*value; WORDS])),
            Remove(key) => drop(state.remove(key)),
            Batch(ops) => ops.iter().for_each(|op| Self::model(state, op)),
            Reopen => {}
        }
    }
}

#[test]
fn every_crash_of_a_short_program() {
    let ops = [
        (0, Insert(1, 1)),
        (0, Insert(2, 2)),
        (1, Insert(1, 3)),
        (1, Remove(2)),
        (0, Insert(2, 4)),
        (1, Batch(vec![Insert(3, 5), Remove(2), Insert(1, 6)])),
        (0, Remove(3)),
        (2, Remove(1)),
    ];
    let effort = Effort {
        images: 20_000,
        ..Effort::default()
    };
    run::<Entries<1>>(&ops, effort);
}

/// A table that begins with one group and is split many times, with lines behind lines.
#[test]
fn crashes_while_it_grows() {
    for granule in [Granule::Line, Granule::Sector, Granule::Page] {
        let ops: Vec<_> = (0..300)
            .map(|key| (key as usize / 120, Insert(key, key)))
            .collect();
        let effort = Effort {
            pool: 256 << 10,
            granule,
            images: 6,
            again: 1,
            ..Effort::default()
        };
        run::<Entries<1>>(&ops, effort);
    }
}

/// Eight groups at once.
#[test]
fn crashes_while_a_larger_table_grows() {
    let fill = (0..880).map(|key| Insert(key, key)).collect();
    let mut ops = vec![(0, Batch(fill))];
    ops.extend((880..930).map(|key| (key as usize % 3, Insert(key, key))));
    let effort = Effort {
        pool: 1 << 20,
        images: 8,
        again: 1,
        ..Effort::default()
    };
    run::<Entries<880>>(&ops, effort);
}

/// Long enough that everything is used again.
#[test]
fn a_sample_of_a_long_program() {
    let mut next = random(3);
    let mut one = |value| match next(5) {
        0 | 1 => Insert(next(40), value),
        _ => Remove(next(40)),
    };
    let ops: Vec<_> = (0..150)
        .map(|value| {
            let op = match value % 10 {
                9 => Batch((0..8).map(|_| one(value)).collect()),
                _ => one(value),
            };
            (value as usize % 3, op)
        })
        .collect();
    for (granule, journal) in [(Granule::Line, false), (Granule::Sector, true)] {
        let effort = Effort {
            pool: 256 << 10,
            granule,
            journal,
            images: 16,
            again: 1,
            ..Effort::default()
        };
        run::<Entries<1>>(&ops, effort);
    }
}

#[test]
fn crashes_with_the_naive_allocator() {
    let remove = |key| (1, Remove(key));
    let insert = |key| (key as usize % 2, Insert(key, key));
    let batch = (2, Batch((0..6).map(|key| Insert(100 + key, key)).collect()));
    let ops = (0..12).map(insert).chain((3..9).map(remove)).chain([batch]);
    let effort = Effort {
        allocator: AllocatorKind::Naive,
        pool: 256 << 10,
        images: 6,
        again: 1,
        ..Effort::default()
    };
    run::<Entries<1>>(&ops.collect::<Vec<_>>(), effort);
}
