//! Transactions of all kinds: words, objects, new and freed objects; and single operations on the
//! same between them.

use terrace_heap::medium::simulated::Granule;
use terrace_heap::{Error, Hint, Place, Ptr, Transaction};

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, run};

type Value = [u64; 10];

struct Objects {
    heap: SimulatedHeap,
    places: Vec<Place<Value>>,
    words: Vec<Ptr<u64>>,
}

/// A part of a transaction.
#[derive(Clone, Debug)]
enum Step {
    New(usize, u64),
    Free(usize),
    Write(usize, u64, Hint),
    Set(usize, u64),
}
use Step::{Free, New, Set, Write};

#[derive(Clone, Debug)]
struct Op {
    /// Each step is an operation of its own, and none a transaction.
    single: bool,
    abort: bool,
    steps: Vec<Step>,
}

type Tx<'t> = Transaction<'t, Memory>;

impl Objects {
    fn step(&self, tx: &Tx, step: &Step) -> Result<(), Error> {
        match *step {
            New(i, value) => tx.write(self.places[i], &tx.alloc(&[value; 10])?),
            Free(i) => {
                tx.free(tx.read(self.places[i])?)?;
                tx.write(self.places[i], &Ptr::NULL)
            }
            Write(i, value, hint) => {
                let object = tx.read(self.places[i])?;
                tx.write_with(object, &[value; 10], hint)
            }
            Set(i, value) => tx.set(self.words[i], value),
        }
    }
}

impl Objects {
    /// A step by itself; the last of an operation that has one only.
    fn single(&self, step: &Step) {
        match *step {
            New(i, value) => drop(self.heap.publish(self.places[i], &[value; 10]).unwrap()),
            Free(i) => self.heap.free(self.places[i]).unwrap(),
            Write(i, value, _) => {
                let object = self.heap.read(self.places[i]).unwrap();
                let bytes = value.to_le_bytes().repeat(10);
                self.heap.write_bytes(object.cast(), &bytes).unwrap();
            }
            Set(i, value) => self.heap.set(self.words[i], value).unwrap(),
        }
    }
}

impl Subject for Objects {
    type Op = Op;
    type State = (Vec<Option<Value>>, Vec<u64>);

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        let place = |i| heap.root(&format!("place {i}"), 0).unwrap();
        let word = |i| heap.root::<u8>(&format!("word {i}"), 0).unwrap().cast();
        Self {
            places: (0..3).map(place).collect(),
            words: (0..4).map(word).collect(),
            heap: heap.clone(),
        }
    }

    fn apply(&mut self, op: &Op) {
        let work = |tx: &Tx| {
            op.steps.iter().try_for_each(|step| self.step(tx, step))?;
            match op.abort {
                true => Err(Error::usage("no")),
                false => Ok(()),
            }
        };
        if op.single {
            return op.steps.iter().for_each(|step| self.single(step));
        }
        let done = self.heap.transaction(work);
        assert_eq!(done.is_err(), op.abort, "{done:?}");
    }

    fn state(&self) -> Self::State {
        let read = |&place: &Place<Value>| {
            let pointer = self.heap.read(place).unwrap();
            (!pointer.is_null()).then(|| self.heap.read(pointer).unwrap())
        };
        let word = |&word: &Ptr<u64>| self.heap.read(word).unwrap();
        let places = self.places.iter().map(read).collect();
        (places, self.words.iter().map(word).collect())
    }

    fn objects(&self) -> Vec<u64> {
        let pointers = self
            .places
            .iter()
            .map(|&place| self.heap.read(place).unwrap());
        pointers.filter(|p| !p.is_null()).map(Ptr::offset).collect()
    }

    fn model((places, words): &mut Self::State, op: &Op) {
        for step in op.steps.iter().filter(|_| !op.abort) {
            match *step {
                New(i, value) | Write(i, value, _) => places[i] = Some([value; 10]),
                Free(i) => places[i] = None,
                Set(i, value) => words[i] = value,
            }
        }
    }
}

/// t a transaction, x one that is aborted, s a single operation.
fn op(kind: char, steps: &[Step]) -> Op {
    Op {
        single: kind == 's',
        abort: kind == 'x',
        steps: steps.to_vec(),
    }
}

fn short() -> Vec<(usize, Op)> {
    vec![
        (0, op('t', &[New(0, 1), Set(0, 1)])),
        (1, op('t', &[Write(0, 2, Hint::Object), Set(1, 5)])),
        (1, op('s', &[Set(1, 6)])),
        (1, op('t', &[Set(0, 7), New(1, 3), Set(2, 1)])),
        (
            0,
            op('t', &[Write(0, 4, Hint::Object), Write(1, 5, Hint::Words)]),
        ),
        (0, op('x', &[Write(0, 6, Hint::Object), New(2, 6), Free(1)])),
        (0, op('s', &[Write(0, 5, Hint::Object)])),
        (
            2,
            op('t', &[Free(0), Free(1), New(0, 7), New(2, 8), Set(3, 4)]),
        ),
        (2, op('s', &[Free(0)])),
        (2, op('t', &[Free(2), New(1, 9), Set(3, 5)])),
        (1, op('x', &[Set(3, 9), Free(1), New(1, 2)])),
        (1, op('t', &[Set(0, 1), Set(1, 1), Set(2, 1), Set(3, 1)])),
        (0, op('t', &[Set(0, 2), Set(0, 3)])),
        (1, op('s', &[Set(0, 4)])),
        (0, op('t', &[Free(1)])),
    ]
}

#[test]
fn every_crash_of_a_short_program() {
    let effort = Effort {
        images: 3000,
        pool: 96 << 10,
        ..Effort::default()
    };
    run::<Objects>(&short(), effort);
}

#[test]
fn every_crash_of_each_small_transaction() {
    let steps = [Set(0, 1), Set(1, 2), New(0, 3)];
    for kind in ['t', 'x'] {
        let ops = [
            (0, op(kind, &steps)),
            (1, op(kind, &[Set(1, 7), Set(2, 8)])),
        ];
        let effort = Effort {
            again: 30,
            ..Effort::default()
        };
        let looked = run::<Objects>(&ops, effort);
        assert!(looked.exhaustive, "{kind}: {looked:?}");
    }
}

#[test]
fn crashes_of_recovery_and_larger_granules() {
    for granule in [Granule::Line, Granule::Sector, Granule::Page] {
        let effort = Effort {
            granule,
            images: 100,
            again: 10,
            pool: 96 << 10,
            ..Effort::default()
        };
        run::<Objects>(&short(), effort);
    }
}

/// Enough that each log is truncated, in a pool in which it is one chunk.
#[test]
fn logs_are_truncated() {
    let ops: Vec<_> = (0..120)
        .map(|i| {
            let first = [New(0, i), New(1, i)];
            let more = [
                Write(0, i, Hint::Object),
                Write(1, i, Hint::Words),
                Set(i as usize % 4, i),
            ];
            let kind = if i % 7 == 6 { 'x' } else { 't' };
            let steps = if i == 0 { &first[..] } else { &more[..] };
            (i as usize / 40, op(kind, steps))
        })
        .collect();
    let effort = Effort {
        images: 12,
        again: 1,
        pool: 128 << 10,
        ..Effort::default()
    };
    run::<Objects>(&ops, effort);
}
