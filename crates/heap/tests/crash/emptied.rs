//! Containers that are emptied and removed: all that they own is freed, whenever that is
//! interrupted.

use std::collections::BTreeSet;

use terrace_heap::Result;
use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};

use crate::common::Memory;
use crate::harness::{Effort, SimulatedHeap, Subject, run_in_smallest};

/// One container of each kind, if it is there.
struct Containers {
    heap: SimulatedHeap,
    tree: Option<BTreeMap<u64, [u8], Memory>>,
    map: Option<HashMap<u64, [u8], Memory>>,
    queue: Option<Queue<[u8], Memory>>,
    vector: Option<Vector<u64, Memory>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tree,
    Map,
    Queue,
    Vector,
}
use Kind::{Map, Tree, Vector as Elements};

#[derive(Clone, Copy, Debug)]
enum Op {
    /// This many numbers from another one on are put into a container, which is made if it is not
    /// there.
    Fill(Kind, u64, u64),
    /// One number is put into a container, by an operation.
    Put(Kind, u64),
    Clear(Kind),
    /// By a transaction.
    ClearWithin(Kind),
    /// Together with the name of its root, or only by its place.
    Remove(Kind, bool),
    PopFirst,
    PopLast,
}
use Op::{Clear, ClearWithin, Fill, PopFirst, PopLast, Put, Remove};

impl Kind {
    const ALL: [Self; 4] = [Tree, Map, Kind::Queue, Elements];

    fn name(self) -> &'static str {
        ["tree", "map", "queue", "vector"][self as usize]
    }
}

/// Some lie apart.
fn value(number: u64) -> Vec<u8> {
    let len = match number % 10 {
        3 => 1100 + number,
        _ => number % 20,
    };
    vec![number as u8; len as usize]
}

impl Containers {
    /// Opens a container, which is made if it is not there.
    fn make(&mut self, kind: Kind) -> Result<()> {
        let (heap, name) = (&self.heap, kind.name());
        match kind {
            Tree => self.tree = Some(BTreeMap::open(heap, name)?),
            Map => self.map = Some(HashMap::open_with_capacity(heap, name, 1)?),
            Kind::Queue => self.queue = Some(Queue::open(heap, name)?),
            Elements => self.vector = Some(Vector::open(heap, name)?),
        }
        Ok(())
    }

    fn fill(&mut self, kind: Kind, numbers: std::ops::Range<u64>) -> Result<()> {
        if self.numbers(kind).is_none() {
            self.make(kind)?;
        }
        self.heap.transaction(|tx| {
            for number in numbers.clone() {
                let value = value(number);
                match kind {
                    Tree => drop(
                        tx.open(self.tree.as_ref().unwrap())?
                            .insert(&number, &value)?,
                    ),
                    Map => drop(
                        tx.open(self.map.as_ref().unwrap())?
                            .insert(&number, &value)?,
                    ),
                    Kind::Queue => tx.open(self.queue.as_ref().unwrap())?.push(&value)?,
                    Elements => tx.open(self.vector.as_ref().unwrap())?.push(&number)?,
                }
            }
            Ok(())
        })
    }

    fn put(&self, kind: Kind, number: u64) -> Result<()> {
        let value = value(number);
        match kind {
            Tree => self
                .tree
                .as_ref()
                .unwrap()
                .insert(&number, &value)
                .map(drop),
            Map => self.map.as_ref().unwrap().insert(&number, &value).map(drop),
            Kind::Queue => self.queue.as_ref().unwrap().push(&value),
            Elements => self.vector.as_ref().unwrap().push(&number),
        }
    }

    fn clear(&self, kind: Kind) -> Result<()> {
        match kind {
            Tree => self.tree.as_ref().unwrap().clear(),
            Map => self.map.as_ref().unwrap().clear(),
            Kind::Queue => self.queue.as_ref().unwrap().clear(),
            Elements => self.vector.as_ref().unwrap().clear(),
        }
    }

    fn clear_within(&self, kind: Kind) -> Result<()> {
        self.heap.transaction(|tx| match kind {
            Tree => tx.open(self.tree.as_ref().unwrap())?.clear(),
            Map => tx.open(self.map.as_ref().unwrap())?.clear(),
            Kind::Queue => tx.open(self.queue.as_ref().unwrap())?.clear(),
            Elements => tx.open(self.vector.as_ref().unwrap())?.clear(),
        })
    }

    fn remove(&mut self, kind: Kind, with_name: bool) -> Result<()> {
        match kind {
            Tree => self.tree = None,
            Map => self.map = None,
            Kind::Queue => self.queue = None,
            Elements => self.vector = None,
        }
        if with_name {
            assert!(self.heap.remove(kind.name())?);
            return Ok(());
        }
        let roots = self.heap.roots()?;
        let root = roots.iter().find(|root| root.name == kind.name()).unwrap();
        self.heap.free(root.place)
    }

    /// The numbers in a container, if it is there.
    fn numbers(&self, kind: Kind) -> Option<BTreeSet<u64>> {
        let number = |value: &[u8]| u64::from(value.first().copied().unwrap_or(0));
        match kind {
            Tree => self.tree.as_ref().map(|tree| {
                let all: BTreeSet<u64> = tree.iter().map(|entry| entry.unwrap().0).collect();
                assert_eq!(tree.len(), Ok(all.len() as u64));
                let right = |&key: &u64| tree.get(&key).unwrap() == Some(value(key));
                assert!(all.iter().all(right));
                all
            }),
            Map => self.map.as_ref().map(|map| {
                let all: BTreeSet<u64> = map.iter().map(|entry| entry.unwrap().0).collect();
                assert_eq!(map.len(), Ok(all.len() as u64));
                let right = |&key: &u64| map.get(&key).unwrap() == Some(value(key));
                assert!(all.iter().all(right));
                all
            }),
            Kind::Queue => self.queue.as_ref().map(|queue| {
                let all: Vec<_> = queue.iter().map(Result::unwrap).collect();
                assert_eq!(queue.len(), Ok(all.len() as u64));
                all.iter().map(|value| number(value)).collect()
            }),
            Elements => self.vector.as_ref().map(|vector| {
                let all: BTreeSet<u64> = vector.iter().map(Result::unwrap).collect();
                assert_eq!(vector.len(), Ok(all.len() as u64));
                all
            }),
        }
    }
}

impl Subject for Containers {
    type Op = Op;
    /// The numbers in each container that is there.
    type State = [Option<BTreeSet<u64>>; 4];

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        let mut containers = Self {
            heap: heap.clone(),
            tree: None,
            map: None,
            queue: None,
            vector: None,
        };
        for kind in Kind::ALL {
            let there =
                |root: &terrace_heap::RootInfo| root.name == kind.name() && !root.pointer.is_null();
            if heap.roots().unwrap().iter().any(there) {
                containers.make(kind).unwrap();
            }
        }
        containers
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Fill(kind, from, count) => self.fill(kind, from..from + count).unwrap(),
            Put(kind, number) => self.put(kind, number).unwrap(),
            Clear(kind) => self.clear(kind).unwrap(),
            ClearWithin(kind) => self.clear_within(kind).unwrap(),
            Remove(kind, with_name) => self.remove(kind, with_name).unwrap(),
            PopFirst => drop(self.tree.as_ref().unwrap().pop_first().unwrap()),
            PopLast => drop(self.tree.as_ref().unwrap().pop_last().unwrap()),
        }
    }

    fn state(&self) -> Self::State {
        Kind::ALL.map(|kind| self.numbers(kind))
    }

    fn objects(&self) -> Vec<u64> {
        let tree = self.tree.as_ref().map(|tree| tree.objects().unwrap());
        let map = self.map.as_ref().map(|map| map.objects().unwrap());
        let queue = self.queue.as_ref().map(|queue| queue.objects().unwrap());
        let vector = self.vector.as_ref().map(|vector| vector.objects().unwrap());
        [tree, map, queue, vector]
            .into_iter()
            .flatten()
            .flatten()
            .collect()
    }

    fn model(state: &mut Self::State, op: &Op) {
        match *op {
            Fill(kind, from, count) => {
                let numbers = state[kind as usize].get_or_insert_default();
                match kind {
                    Kind::Queue => {
                        numbers.extend((from..from + count).map(
                            |number| match value(number).len() {
                                0 => 0,
                                _ => u64::from(number as u8),
                            },
                        ))
                    }
                    _ => numbers.extend(from..from + count),
                }
            }
            Put(kind, number) => Self::model(state, &Fill(kind, number, 1)),
            Clear(kind) | ClearWithin(kind) => state[kind as usize] = Some(BTreeSet::new()),
            Remove(kind, _) => state[kind as usize] = None,
            PopFirst => drop(state[0].as_mut().unwrap().pop_first()),
            PopLast => drop(state[0].as_mut().unwrap().pop_last()),
        }
    }

    /// What is left can be filled again.
    fn go_on(&mut self, state: Self::State) {
        for (kind, numbers) in Kind::ALL.into_iter().zip(state) {
            if numbers.is_some() && kind != Kind::Queue {
                self.fill(kind, 5000..5003).unwrap();
                assert!(self.numbers(kind).unwrap().contains(&5002));
            }
        }
    }
}

#[test]
fn crashes_while_small_containers_are_emptied_and_removed() {
    for kind in Kind::ALL {
        let ops = [
            (0, Fill(kind, 1, 0)),
            (0, Fill(kind, 0, 6)),
            (0, ClearWithin(kind)),
            (1, Fill(kind, 50, 9)),
            (2, Clear(kind)),
            (1, Put(kind, 30)),
            (1, Clear(kind)),
            (0, Put(kind, 31)),
            (1, Put(kind, 32)),
            (1, Fill(kind, 3, 7)),
            (2, Remove(kind, true)),
        ];
        let effort = Effort {
            pool: 96 << 10,
            images: 6,
            again: 1,
            ..Effort::default()
        };
        run_in_smallest::<Containers>(&ops, effort);
    }
}

/// Of so many objects that they are freed in several steps; each may be the last.
#[test]
fn crashes_while_large_containers_are_emptied_and_removed() {
    for (kind, count) in [(Map, 280), (Tree, 1000), (Kind::Queue, 300)] {
        let ops = [
            (0, Fill(kind, 0, 0)),
            (0, Fill(kind, 0, count)),
            (1, Clear(kind)),
            (0, Fill(kind, 0, count)),
            (2, Remove(kind, false)),
        ];
        let effort = Effort {
            pool: 1 << 20,
            images: 2,
            sparse: true,
            ..Effort::default()
        };
        run_in_smallest::<Containers>(&ops, effort);
    }
}

#[test]
fn crashes_while_entries_at_the_ends_are_taken() {
    let mut ops = vec![(0, Fill(Tree, 0, 0)), (0, Fill(Tree, 20, 30))];
    ops.extend((0..16).flat_map(|i| [(i % 3, PopFirst), (i % 2, PopLast)]));
    let effort = Effort {
        pool: 96 << 10,
        images: 4,
        ..Effort::default()
    };
    run_in_smallest::<Containers>(&ops, effort);
}
