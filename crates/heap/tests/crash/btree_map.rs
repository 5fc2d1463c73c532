//! The B-tree map: entries that come, change and go, alone and in transactions, nodes that are
//! split and go, and values that lie apart.

use std::collections;

use terrace_heap::containers::BTreeMap;
use terrace_heap::medium::simulated::Granule;

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, random, run};

struct Entries(BTreeMap<[u8], [u8], Memory>, SimulatedHeap);

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, u64),
    Remove(u64),
    Batch(Vec<Op>),
}
use Op::{Batch, Insert, Remove};

/// Keys of many lengths; some are prefixes of others.
fn key(number: u64) -> Vec<u8> {
    let mut key = (number / 3).to_be_bytes()[6..].to_vec();
    key.extend(vec![b'k'; number as usize % 3 * 20]);
    key
}

/// Values of many lengths: some lie apart, and some of these in several parts.
fn value(number: u64) -> Vec<u8> {
    let len = match number % 50 {
        49 => 70_000,
        7 | 29 => 1500 + number % 9,
        _ => number % 11 * 7,
    };
    number
        .to_le_bytes()
        .iter()
        .copied()
        .cycle()
        .take(len as usize)
        .collect()
}

impl Subject for Entries {
    type Op = Op;
    type State = collections::BTreeMap<Vec<u8>, Vec<u8>>;

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        Self(BTreeMap::open(heap, "map").unwrap(), heap.clone())
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Insert(k, v) => drop(self.0.insert(&key(*k), &value(*v)).unwrap()),
            Remove(k) => drop(self.0.remove(&key(*k)).unwrap()),
            Batch(ops) => {
                let work = self.1.transaction(|tx| {
                    let map = tx.open(&self.0)?;
                    ops.iter().try_for_each(|op| match op {
                        Insert(k, v) => map.insert(&key(*k), &value(*v)).map(drop),
                        Remove(k) => map.remove(&key(*k)).map(drop),
                        Batch(_) => Ok(()),
                    })
                });
                work.unwrap();
            }
        }
    }

    fn state(&self) -> Self::State {
        let all: Vec<(Vec<u8>, Vec<u8>)> = self.0.iter().map(Result::unwrap).collect();
        assert!(all.is_sorted());
        assert_eq!(self.0.len().unwrap(), all.len() as u64);
        for (key, value) in &all {
            assert_eq!(self.0.get(key).unwrap().as_ref(), Some(value));
        }
        all.into_iter().collect()
    }

    fn objects(&self) -> Vec<u64> {
        self.0.objects().unwrap()
    }

    fn model(state: &mut Self::State, op: &Op) {
        match op {
            Insert(k, v) => drop(state.insert(key(*k), value(*v))),
            Remove(k) => drop(state.remove(&key(*k))),
            Batch(ops) => ops.iter().for_each(|op| Self::model(state, op)),
        }
    }
}

/// Slots and nodes that are used again right after another operation named them.
#[test]
fn crashes_of_a_short_program() {
    let ops = [
        (0, Insert(5, 1)),
        (0, Insert(3, 2)),
        (0, Insert(5, 3)),
        (0, Insert(5, 14)),
        (1, Insert(5, 5)),
        (1, Remove(3)),
        (0, Insert(3, 6)),
        (0, Insert(7, 7)),
        (0, Insert(1, 8)),
        (0, Insert(7, 9)),
        (0, Insert(4, 29)),
        (1, Batch(vec![Insert(6, 11), Remove(6), Insert(8, 12)])),
        (1, Insert(6, 13)),
        (1, Batch((1..6).map(Remove).collect())),
        (1, Insert(2, 14)),
        (0, Remove(2)),
        (0, Batch((6..9).map(Remove).collect())),
        (2, Insert(9, 15)),
        (2, Remove(9)),
        (2, Insert(9, 16)),
    ];
    let effort = Effort {
        pool: 160 << 10,
        images: 300,
        ..Effort::default()
    };
    run::<Entries>(&ops, effort);
}

/// Up to a tree of several levels and down again.
#[test]
fn crashes_while_it_grows_and_shrinks() {
    for granule in [Granule::Line, Granule::Sector, Granule::Page] {
        let mut next = random(5);
        let fill = Batch((0..260).map(|i| Insert(i * 2, i)).collect());
        let grow = (0..40).map(|i| Insert(i * 19 % 40 * 13 + 1, i));
        let shrink = Batch((0..200).map(|i| Remove(i * 2)).collect());
        let few = (0..65).map(|i| Remove(400 + i * 7 % 65 * 2));
        let ops: Vec<_> = [fill]
            .into_iter()
            .chain(grow)
            .chain([shrink])
            .chain(few)
            .map(|op| (next(4) as usize / 3, op))
            .collect();
        let effort = Effort {
            pool: 1 << 20,
            granule,
            images: 4,
            again: 1,
            ..Effort::default()
        };
        run::<Entries>(&ops, effort);
    }
}

#[test]
fn a_sample_of_a_long_program() {
    let mut next = random(9);
    let mut one = |value| match next(5) {
        0 | 1 => Remove(next(24)),
        _ => Insert(next(24), value),
    };
    let ops: Vec<_> = (0..100)
        .map(|value| {
            let op = match value % 10 {
                9 => Batch((0..8).map(|_| one(value)).collect()),
                _ => one(value),
            };
            (value as usize / 2 % 3, op)
        })
        .collect();
    let effort = Effort {
        pool: 768 << 10,
        images: 10,
        again: 1,
        ..Effort::default()
    };
    run::<Entries>(&ops, effort);
}
