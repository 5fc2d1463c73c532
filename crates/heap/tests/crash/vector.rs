//! The vector: elements that come, change and go at its end, alone and in batches, and its growth.

use terrace_heap::Error;
use terrace_heap::containers::{Vector, vector};
use terrace_heap::medium::simulated::Granule;

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, random, run};

/// An element of 72 bytes, which lies in two lines.
type Value = [u64; 9];

struct Elements(Vector<Value, Memory>, SimulatedHeap);

#[derive(Clone, Debug)]
enum Op {
    Push(u64),
    Pop,
    Set(u64, u64),
    Truncate(u64),
    Batch(Vec<Op>),
}
use Op::{Batch, Pop, Push, Set, Truncate};

fn in_batch(vector: &vector::Opened<Value, Memory>, op: &Op) -> Result<(), Error> {
    match *op {
        Push(value) => vector.push(&[value; 9]),
        Pop => vector.pop().map(drop),
        Set(index, value) if index < vector.len()? => vector.set(index, &[value; 9]),
        Set(..) | Batch(_) => Ok(()),
        Truncate(len) => vector.truncate(len),
    }
}

impl Subject for Elements {
    type Op = Op;
    type State = Vec<Value>;

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        Self(Vector::open(heap, "vector").unwrap(), heap.clone())
    }

    fn apply(&mut self, op: &Op) {
        let done = match *op {
            Push(value) => self.0.push(&[value; 9]),
            Pop => self.0.pop().map(drop),
            Set(index, value) if index < self.0.len().unwrap() => self.0.set(index, &[value; 9]),
            Set(..) => Ok(()),
            Truncate(len) => self.0.truncate(len),
            Batch(ref ops) => self.1.transaction(|tx| {
                let vector = tx.open(&self.0)?;
                ops.iter().try_for_each(|op| in_batch(&vector, op))
            }),
        };
        done.unwrap();
    }

    fn state(&self) -> Self::State {
        let all: Self::State = self.0.iter().map(Result::unwrap).collect();
        assert_eq!(self.0.len(), Ok(all.len() as u64));
        all
    }

    fn objects(&self) -> Vec<u64> {
        self.0.objects().unwrap()
    }

    fn model(state: &mut Self::State, op: &Op) {
        match *op {
            Push(value) => state.push([value; 9]),
            Pop => drop(state.pop()),
            Set(index, value) => drop(state.get_mut(index as usize).map(|at| *at = [value; 9])),
            Truncate(len) => state.truncate(len as usize),
            Batch(ref ops) => ops.iter().for_each(|op| Self::model(state, op)),
        }
    }
}

/// Slots that are filled again right after another operation named them.
#[test]
fn every_crash_of_a_short_program() {
    let ops = [
        (0, Push(1)),
        (0, Push(2)),
        (0, Pop),
        (0, Push(3)),
        (1, Pop),
        (1, Push(4)),
        (0, Batch(vec![Push(5), Push(6), Pop])),
        (0, Push(7)),
        (1, Batch(vec![Push(8), Pop, Pop])),
        (0, Push(9)),
        (2, Set(2, 10)),
        (2, Truncate(2)),
        (2, Push(11)),
        (0, Truncate(0)),
        (1, Push(12)),
    ];
    let effort = Effort {
        pool: 96 << 10,
        images: 1000,
        ..Effort::default()
    };
    run::<Elements>(&ops, effort);
}

/// Long enough that segments, intents and the log are used again.
#[test]
fn a_sample_of_a_long_program() {
    for granule in [Granule::Line, Granule::Sector, Granule::Page] {
        let mut next = random(3 + granule as u64);
        let mut one = |value| match next(8) {
            0 | 1 => Pop,
            2 => Set(next(20), value),
            3 if value % 3 == 0 => Truncate(next(20)),
            _ => Push(value),
        };
        let ops: Vec<_> = (0..80)
            .map(|value| {
                let op = match value % 10 {
                    9 => Batch((0..6).map(|_| one(value)).collect()),
                    _ => one(value),
                };
                ((value / 3) as usize % 3, op)
            })
            .collect();
        let effort = Effort {
            pool: 128 << 10,
            granule,
            images: 16,
            again: 1,
            ..Effort::default()
        };
        run::<Elements>(&ops, effort);
    }
}
