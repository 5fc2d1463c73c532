//! The bug that this guards against: room that an operation has freed was handed out again as soon
//! as the free was durable, while a crash could still have the operation carried out once more.
//!
//! A transaction writes an object and frees it; the lane does one operation more, and looks for
//! room without finishing another; then another lane makes an object, durably, to which another
//! word points. Had it been given that room, recovery would have written the transaction's contents
//! over it.

use terrace_heap::medium::simulated::Granule;
use terrace_heap::{Hint, Place, Ptr};

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, run};

/// An object of a whole chunk, whose room goes back to all lanes at once.
const WORDS: usize = 512;

struct Chunks {
    heap: SimulatedHeap,
    places: [Place<u8>; 3],
    word: Ptr<u64>,
}

#[derive(Clone, Debug)]
enum Op {
    Publish(usize, u64),
    /// Writes an object and frees it.
    WriteAndFree(usize, u64),
    Set(u64),
    /// Makes an object in a transaction that fails.
    Fail,
}
use Op::{Fail, Publish, Set, WriteAndFree};

fn contents(value: u64) -> Vec<u8> {
    value.to_le_bytes().repeat(WORDS)
}

impl Subject for Chunks {
    type Op = Op;
    type State = ([Option<Vec<u64>>; 3], u64);

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        Self {
            places: ["a", "b", "c"].map(|name| heap.root::<u8>(name, 0).unwrap()),
            word: heap.root::<u8>("word", 0).unwrap().cast(),
            heap: heap.clone(),
        }
    }

    fn apply(&mut self, op: &Op) {
        let tx = self.heap.begin().unwrap();
        match *op {
            // By an operation of its own, which does not check which others have named the room.
            Publish(i, value) => {
                drop(tx);
                let published = self.heap.publish_bytes(self.places[i], &contents(value));
                published.unwrap();
                return;
            }
            WriteAndFree(i, value) => {
                let object = tx.read(self.places[i]).unwrap();
                let bytes = contents(value);
                tx.write_bytes(object.offset(), &bytes, Hint::Object)
                    .unwrap();
                tx.write(self.places[i], &Ptr::NULL).unwrap();
                tx.free(object).unwrap();
            }
            Set(value) => tx.set(self.word, value).unwrap(),
            Fail => {
                tx.alloc_bytes(&[1; 64]).unwrap();
                return;
            }
        }
        tx.commit().unwrap();
    }

    fn state(&self) -> Self::State {
        let read = |place: Place<u8>| {
            let pointer = self.heap.read(place).unwrap();
            let word = |i: usize| Ptr::<u64>::at(pointer.offset() + 8 * i as u64);
            let words = || (0..WORDS).map(|i| self.heap.read(word(i)).unwrap());
            (!pointer.is_null()).then(|| words().collect())
        };
        (self.places.map(read), self.heap.read(self.word).unwrap())
    }

    fn objects(&self) -> Vec<u64> {
        let pointers = self.places.map(|place| self.heap.read(place).unwrap());
        let there = pointers.into_iter().filter(|p| !p.is_null());
        there.map(Ptr::offset).collect()
    }

    fn model((places, word): &mut Self::State, op: &Op) {
        match *op {
            Publish(i, value) => places[i] = Some(vec![value; WORDS]),
            WriteAndFree(i, _) => places[i] = None,
            Set(value) => *word = value,
            Fail => {}
        }
    }
}

#[test]
fn crashes_after_room_is_used_again() {
    let ops = [
        (0, Publish(0, 1)),
        (0, Fail),
        (0, WriteAndFree(0, 2)),
        (0, Set(3)),
        (0, Fail),
        (1, Publish(1, 4)),
        (1, Publish(0, 5)),
        (1, Fail),
        (1, WriteAndFree(1, 6)),
        (1, Set(7)),
        (1, Fail),
        (2, Publish(2, 8)),
        (0, WriteAndFree(0, 9)),
        (0, Fail),
        (2, Publish(1, 10)),
    ];
    for granule in [Granule::Line, Granule::Page] {
        let effort = Effort {
            pool: 96 << 10,
            granule,
            images: 16,
            again: 1,
            ..Effort::default()
        };
        run::<Chunks>(&ops, effort);
    }
}
