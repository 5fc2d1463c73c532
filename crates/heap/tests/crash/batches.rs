//! Values of several words that one transaction puts, replaces in place, removes and puts again:
//! what it stores at once, what it writes at its commit and what it frees lie in the same places.
//!
//! The bugs that this guards against: recovery restored the first of two values that a transaction
//! had put in one place, because its log had what was written before what was stored at once; and a
//! value was stored at once where the transaction had written another, which came to lie over it.

use std::collections;

use terrace_heap::containers::{BTreeMap, HashMap, Vector};
use terrace_heap::medium::simulated::Granule;
use terrace_heap::{Result, Transaction};

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, random, run};

/// A structure; to replace one changes more words than are written one by one.
type Value = [u64; 5];

/// Bytes of byte strings within their entry, of other lengths, and of those that lie apart.
const SHORT: usize = 43;
const OTHER: usize = 70;
const LONG: usize = 1500;

struct Containers {
    heap: SimulatedHeap,
    tree: BTreeMap<u64, Value, Memory>,
    tree_of_bytes: BTreeMap<[u8], [u8], Memory>,
    map: HashMap<u64, Value, Memory>,
    map_of_bytes: HashMap<[u8], [u8], Memory>,
    vector: Vector<Value, Memory>,
}

/// The map of a step.
#[derive(Clone, Copy, Debug)]
enum Of {
    Tree,
    TreeOfBytes,
    Map,
    MapOfBytes,
}

const MAPS: [Of; 4] = [Of::Tree, Of::TreeOfBytes, Of::Map, Of::MapOfBytes];

/// A part of a transaction.
#[derive(Clone, Debug)]
enum Step {
    /// A key and the number of its value, which has so many bytes if it is a byte string.
    Put(Of, u64, u64, usize),
    Remove(Of, u64),
    Push(u64),
    /// Replaces the last element.
    Replace(u64),
    Pop,
}
use Step::{Pop, Push, Put, Remove, Replace};

/// All that can be seen: the maps of structures and of byte strings, each the tree first, and the
/// vector.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    structures: [collections::BTreeMap<u64, Value>; 2],
    strings: [collections::BTreeMap<Vec<u8>, Vec<u8>>; 2],
    vector: Vec<Value>,
}

/// Returns words that differ from those of any other number.
fn value(number: u64) -> Value {
    std::array::from_fn(|i| number << 8 | i as u64)
}

/// Returns bytes whose words differ from those of any other number.
fn string(number: u64, len: usize) -> Vec<u8> {
    let words = (0..).map(|i| number << 8 | i);
    words.flat_map(u64::to_le_bytes).take(len).collect()
}

fn key(number: u64) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

impl Containers {
    fn step(&self, tx: &Transaction<Memory>, step: &Step) -> Result<()> {
        match *step {
            Put(of, k, number, len) => self.put(tx, of, k, number, len),
            Remove(of, k) => self.remove(tx, of, k),
            Push(number) => tx.open(&self.vector)?.push(&value(number)),
            Replace(number) => {
                let vector = tx.open(&self.vector)?;
                match vector.len()?.checked_sub(1) {
                    Some(last) => vector.set(last, &value(number)),
                    None => Ok(()),
                }
            }
            Pop => tx.open(&self.vector)?.pop().map(drop),
        }
    }

    fn put(&self, tx: &Transaction<Memory>, of: Of, k: u64, number: u64, len: usize) -> Result<()> {
        let (structure, bytes) = (value(number), string(number, len));
        match of {
            Of::Tree => tx.open(&self.tree)?.insert(&k, &structure).map(drop),
            Of::TreeOfBytes => {
                let tree = tx.open(&self.tree_of_bytes)?;
                tree.insert(&key(k), &bytes).map(drop)
            }
            Of::Map => tx.open(&self.map)?.insert(&k, &structure).map(drop),
            Of::MapOfBytes => {
                let map = tx.open(&self.map_of_bytes)?;
                map.insert(&key(k), &bytes).map(drop)
            }
        }
    }

    fn remove(&self, tx: &Transaction<Memory>, of: Of, k: u64) -> Result<()> {
        match of {
            Of::Tree => tx.open(&self.tree)?.remove(&k).map(drop),
            Of::TreeOfBytes => tx.open(&self.tree_of_bytes)?.remove(&key(k)).map(drop),
            Of::Map => tx.open(&self.map)?.remove(&k).map(drop),
            Of::MapOfBytes => tx.open(&self.map_of_bytes)?.remove(&key(k)).map(drop),
        }
    }
}

impl Subject for Containers {
    /// The steps of a transaction.
    type Op = Vec<Step>;
    type State = Seen;

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        Self {
            tree: BTreeMap::open(heap, "tree").unwrap(),
            tree_of_bytes: BTreeMap::open(heap, "tree of bytes").unwrap(),
            map: HashMap::open_with_capacity(heap, "map", 1).unwrap(),
            map_of_bytes: HashMap::open_with_capacity(heap, "map of bytes", 1).unwrap(),
            vector: Vector::open(heap, "vector").unwrap(),
            heap: heap.clone(),
        }
    }

    fn apply(&mut self, op: &Vec<Step>) {
        let work = |tx: &Transaction<Memory>| op.iter().try_for_each(|step| self.step(tx, step));
        self.heap.transaction(work).unwrap();
    }

    fn state(&self) -> Seen {
        Seen {
            structures: [
                self.tree.iter().collect::<Result<_>>().unwrap(),
                self.map.iter().collect::<Result<_>>().unwrap(),
            ],
            strings: [
                self.tree_of_bytes.iter().collect::<Result<_>>().unwrap(),
                self.map_of_bytes.iter().collect::<Result<_>>().unwrap(),
            ],
            vector: self.vector.iter().collect::<Result<_>>().unwrap(),
        }
    }

    fn objects(&self) -> Vec<u64> {
        let all = [
            self.tree.objects(),
            self.tree_of_bytes.objects(),
            self.map.objects(),
            self.map_of_bytes.objects(),
            self.vector.objects(),
        ];
        all.into_iter().flat_map(Result::unwrap).collect()
    }

    fn model(seen: &mut Seen, op: &Vec<Step>) {
        for step in op {
            match *step {
                Put(of, k, number, len) => match of {
                    Of::Tree => drop(seen.structures[0].insert(k, value(number))),
                    Of::TreeOfBytes => drop(seen.strings[0].insert(key(k), string(number, len))),
                    Of::Map => drop(seen.structures[1].insert(k, value(number))),
                    Of::MapOfBytes => drop(seen.strings[1].insert(key(k), string(number, len))),
                },
                Remove(of, k) => match of {
                    Of::Tree => drop(seen.structures[0].remove(&k)),
                    Of::TreeOfBytes => drop(seen.strings[0].remove(&key(k))),
                    Of::Map => drop(seen.structures[1].remove(&k)),
                    Of::MapOfBytes => drop(seen.strings[1].remove(&key(k))),
                },
                Push(number) => seen.vector.push(value(number)),
                Replace(number) => {
                    if let Some(last) = seen.vector.last_mut() {
                        *last = value(number);
                    }
                }
                Pop => drop(seen.vector.pop()),
            }
        }
    }
}

/// Two entries that each map has before, so that its objects are there.
fn filled(of: Of) -> Vec<Step> {
    vec![Put(of, 1, 1, SHORT), Put(of, 2, 2, SHORT)]
}

/// All that is done to the value of a key in a transaction, if it is there before and if not.
fn again(of: Of, k: u64, first: u64) -> [Vec<Step>; 4] {
    let put = |number, len| Put(of, k, first + number, len);
    [
        // In the place of what was stored at once, first by the commit, then at once.
        vec![put(1, SHORT), put(2, SHORT)],
        vec![put(3, SHORT), put(4, SHORT), Remove(of, k), put(5, SHORT)],
        vec![
            Remove(of, k),
            put(6, SHORT),
            Remove(of, k),
            put(7, SHORT),
            put(8, SHORT),
        ],
        // Objects of values that lie apart, in which other ones come to lie.
        vec![
            put(9, LONG),
            put(10, OTHER),
            put(11, LONG),
            Remove(of, k),
            put(12, LONG),
            put(13, LONG),
        ],
    ]
}

/// An operation that has nothing to do with the maps, so that the last one of its lane names
/// nothing of them: otherwise nothing there is stored at once.
fn apart() -> Vec<Step> {
    vec![Push(1)]
}

/// Each in its own transaction, where the key is not there before and where it is.
#[test]
fn crashes_of_a_value_that_is_put_again_and_again() {
    for of in MAPS {
        let mut ops = vec![filled(of)];
        for part in again(of, 3, 100) {
            ops.extend([
                apart(),
                part.clone(),
                apart(),
                part,
                apart(),
                vec![Remove(of, 3)],
            ]);
        }
        // The lane changes before a part that meets no key, and before one that does.
        let lanes = (0..).map(|i| i / 4 % 2);
        let effort = Effort {
            pool: 192 << 10,
            images: 20,
            again: 1,
            ..Effort::default()
        };
        run::<Containers>(&lanes.zip(ops).collect::<Vec<_>>(), effort);
    }
}

#[test]
fn crashes_of_an_element_that_is_pushed_again_and_again() {
    let ops = [
        (0, vec![Push(1)]),
        (0, vec![Push(2), Replace(3)]),
        (0, vec![Push(4), Replace(5), Pop, Push(6)]),
        (1, vec![Push(7), Replace(8), Pop, Push(9), Replace(10)]),
        (1, vec![Pop, Push(11), Replace(12)]),
        (0, vec![Replace(13), Pop, Push(14), Push(15), Replace(16)]),
        (0, vec![Pop, Pop]),
        (0, vec![Push(17), Replace(18)]),
    ];
    let effort = Effort {
        pool: 192 << 10,
        images: 100,
        again: 2,
        ..Effort::default()
    };
    run::<Containers>(&ops, effort);
}

/// All of it in one transaction, over all containers, on each kind of memory.
#[test]
fn crashes_of_one_transaction_with_all_of_it() {
    let base = MAPS.into_iter().flat_map(filled).collect();
    let all = |k: u64| {
        let steps = (0..4).flat_map(|part| {
            let of_maps = MAPS.map(|of| again(of, k + part, 100 * k)[part as usize].clone());
            let of_vector = [Push(k), Replace(k + 1), Pop, Push(k + 2)];
            of_maps.into_iter().flatten().chain(of_vector)
        });
        steps.collect::<Vec<_>>()
    };
    let ops = [
        (0, base),
        (0, apart()),
        (0, all(3)),
        (0, apart()),
        (1, all(1)),
        (1, all(5)),
    ];
    for granule in [Granule::Line, Granule::Sector, Granule::Page] {
        let effort = Effort {
            pool: 256 << 10,
            granule,
            images: 40,
            again: 1,
            journal: granule == Granule::Sector,
            ..Effort::default()
        };
        run::<Containers>(&ops, effort);
    }
}

/// Few keys, so that steps often meet.
#[test]
fn crashes_of_random_batches() {
    let mut next = random(11);
    let mut number = 0;
    let mut step = || {
        number += 1;
        let (of, k) = (MAPS[next(4) as usize], next(3));
        let len = [SHORT, SHORT, SHORT, OTHER, LONG][next(5) as usize];
        match next(9) {
            0..5 => Put(of, k, number, len),
            5 => Remove(of, k),
            6 => Push(number),
            7 => Replace(number),
            _ => Pop,
        }
    };
    let ops: Vec<_> = (0..40)
        .map(|i| (i / 3 % 3, (0..24).map(|_| step()).collect()))
        .collect();
    let effort = Effort {
        pool: 256 << 10,
        images: 8,
        again: 1,
        ..Effort::default()
    };
    run::<Containers>(&ops, effort);
}
