//! The queue: elements that come and go, and the segments behind them.

use terrace_heap::containers::Queue;
use terrace_heap::medium::simulated::Granule;

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, random, run};

/// So large that a segment has four.
type Value = [u64; 120];

struct Elements(Queue<Value, Memory>, SimulatedHeap);

#[derive(Clone, Debug)]
enum Op {
    Push(u64),
    Pop,
    /// This many are popped and these are pushed, together.
    Batch(usize, Vec<u64>),
}
use Op::{Batch, Pop, Push};

impl Subject for Elements {
    type Op = Op;
    /// What all words of each element are.
    type State = Vec<u64>;

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        Self(Queue::open(heap, "queue").unwrap(), heap.clone())
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Push(value) => self.0.push(&[*value; 120]).unwrap(),
            Pop => drop(self.0.pop().unwrap()),
            Batch(pops, pushes) => {
                let work = self.1.transaction(|tx| {
                    let queue = tx.open(&self.0)?;
                    (0..*pops).try_for_each(|_| queue.pop().map(drop))?;
                    let mut pushes = pushes.iter();
                    pushes.try_for_each(|value| queue.push(&[*value; 120]))
                });
                work.unwrap();
            }
        }
    }

    fn state(&self) -> Self::State {
        let whole = |value: Result<Value, _>| {
            let value = value.unwrap();
            assert_eq!(value, [value[0]; 120]);
            value[0]
        };
        let all: Self::State = self.0.iter().map(whole).collect();
        assert_eq!(self.0.len(), Ok(all.len() as u64));
        all
    }

    fn objects(&self) -> Vec<u64> {
        self.0.objects().unwrap()
    }

    fn model(state: &mut Self::State, op: &Op) {
        match op {
            Push(value) => state.push(*value),
            Pop if state.is_empty() => {}
            Pop => drop(state.remove(0)),
            Batch(pops, pushes) => {
                state.drain(..(*pops).min(state.len()));
                state.extend(pushes);
            }
        }
    }
}

fn effort(granule: Granule) -> Effort {
    Effort {
        pool: 128 << 10,
        granule,
        images: 12,
        again: 1,
        ..Effort::default()
    }
}

/// Through several segments, empty at the end of one and in the middle.
#[test]
fn crashes_where_a_segment_ends() {
    for granule in [Granule::Line, Granule::Sector, Granule::Page] {
        let pushes = |from: u64, to: u64| (from..to).map(Push);
        let pops = |count| std::iter::repeat_n(Pop, count);
        let ops = pushes(1, 5).chain(pops(4)).chain(pushes(5, 12));
        let ops = ops.chain(pops(5)).chain(pushes(12, 14)).chain(pops(5));
        let ops: Vec<_> = ops.enumerate().map(|(i, op)| (i / 4 % 3, op)).collect();
        run::<Elements>(&ops, effort(granule));
    }
}

#[test]
fn a_sample_of_a_long_program() {
    let mut next = random(11);
    let ops: Vec<_> = (1..100)
        .map(|value| {
            let pushes = next(4) < if value / 20 % 2 == 0 { 3 } else { 1 };
            let op = if pushes { Push(value) } else { Pop };
            (next(3) as usize, op)
        })
        .collect();
    run::<Elements>(&ops, effort(Granule::Line));
}

/// Batches that end within a segment, at its end, and behind several, between single elements, in
/// the same lane and in others.
#[test]
fn crashes_of_batches() {
    let batch = |pops, pushes: std::ops::Range<u64>| Batch(pops, pushes.collect());
    let ops = [
        (0, batch(0, 1..4)),
        (0, Push(4)),
        (0, batch(0, 5..6)),
        (1, batch(3, 6..16)),
        (1, Pop),
        (1, batch(6, 16..17)),
        (2, Pop),
        (2, batch(99, 17..20)),
        (2, Push(20)),
        (2, batch(2, 21..21)),
        (0, Push(21)),
    ];
    for granule in [Granule::Line, Granule::Sector, Granule::Page] {
        let effort = Effort {
            pool: 256 << 10,
            images: 40,
            again: 2,
            ..effort(granule)
        };
        run::<Elements>(&ops, effort);
    }
}
