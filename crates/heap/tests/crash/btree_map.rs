//! The B-tree map: entries that come, change and go, alone and in batches, and nodes that are split
//! and go.

use std::collections;

use terrace_heap::containers::BTreeMap;
use terrace_heap::medium::simulated::{Granule, Simulated};

use crate::harness::{Effort, SimulatedHeap, Subject, random, run};

/// So large that a node has four.
type Key = [u64; 16];

struct Entries(BTreeMap<Key, u64, std::sync::Arc<Simulated>>);

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, u64),
    Remove(u64),
    Batch(Vec<Op>),
}
use Op::{Batch, Insert, Remove};

impl Subject for Entries {
    type Op = Op;
    type State = collections::BTreeMap<u64, u64>;

    fn open(heap: &SimulatedHeap) -> Self {
        Self(BTreeMap::open(heap, "map").unwrap())
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Insert(key, value) => drop(self.0.insert(&[*key; 16], value).unwrap()),
            Remove(key) => drop(self.0.remove(&[*key; 16]).unwrap()),
            Batch(ops) => self
                .0
                .batch(|batch| {
                    ops.iter().try_for_each(|op| match op {
                        Insert(key, value) => batch.insert(&[*key; 16], value).map(drop),
                        Remove(key) => batch.remove(&[*key; 16]).map(drop),
                        Batch(_) => Ok(()),
                    })
                })
                .unwrap(),
        }
    }

    fn state(&self) -> Self::State {
        let all: Vec<(Key, u64)> = self.0.iter().map(Result::unwrap).collect();
        assert!(all.is_sorted());
        assert_eq!(self.0.len().unwrap(), all.len() as u64);
        for (key, value) in &all {
            assert_eq!(*key, [key[0]; 16]);
            assert_eq!(self.0.get(key).unwrap(), Some(*value));
        }
        all.into_iter()
            .map(|(key, value)| (key[0], value))
            .collect()
    }

    fn objects(&self) -> Vec<u64> {
        self.0.objects().unwrap()
    }

    fn model(state: &mut Self::State, op: &Op) {
        match op {
            Insert(key, value) => drop(state.insert(*key, *value)),
            Remove(key) => drop(state.remove(key)),
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
        (0, Insert(5, 4)),
        (1, Insert(5, 5)),
        (1, Remove(3)),
        (0, Insert(3, 6)),
        (0, Insert(7, 7)),
        (0, Insert(1, 8)),
        (0, Insert(2, 9)),
        (0, Insert(4, 10)),
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
        pool: 96 << 10,
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
        let grow = (0..45).map(|i| Insert(i * 19 % 45, i));
        let shrink = (0..45).map(|i| Remove(i * 7 % 45));
        let ops: Vec<_> = grow
            .chain(shrink)
            .map(|op| (next(4) as usize / 3, op))
            .collect();
        let effort = Effort {
            pool: 160 << 10,
            granule,
            images: 5,
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
        pool: 160 << 10,
        images: 10,
        again: 1,
        ..Effort::default()
    };
    run::<Entries>(&ops, effort);
}
