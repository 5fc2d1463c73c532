//! Objects that containers own move, whenever that is interrupted: nothing is lost, nothing is
//! there twice, and nothing leaks.

use std::collections::{BTreeMap as Model, VecDeque};
use std::sync::{Arc, Mutex};

use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::medium::simulated::{Granule, Simulated};

use crate::common::{Memory, create, open, options, used};
use crate::harness::{Effort, SimulatedHeap, Subject, run, run_in};

/// One container of each kind.
struct Containers {
    heap: SimulatedHeap,
    tree: BTreeMap<u64, [u8], Memory>,
    map: HashMap<u64, [u8], Memory>,
    queue: Queue<[u8], Memory>,
    vector: Vector<[u64; 2], Memory>,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// A number is put into each container.
    Put(u64),
    /// A number leaves the maps, and one the queue.
    Take(u64),
    /// A call looks at so many objects.
    Compact(u64),
}
use Op::{Compact, Put, Take};

/// The values of maps and queue by their numbers, and the length of the vector.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    numbers: Model<u64, Vec<u8>>,
    queue: VecDeque<Vec<u8>>,
    vector: u64,
}

/// Some lie apart, and some of these have parts: a part has 15 chunks of 4 KiB.
fn value(number: u64) -> Vec<u8> {
    let len = match number % 12 {
        3 | 5 => 1100 + number,
        7 if number < 12 => 62_000,
        _ => 40 + number % 20,
    };
    vec![number as u8; len as usize]
}

impl Containers {
    fn made(heap: &SimulatedHeap) -> Self {
        Self {
            tree: BTreeMap::open(heap, "tree").unwrap(),
            map: HashMap::open_with_capacity(heap, "map", 1).unwrap(),
            queue: Queue::open(heap, "queue").unwrap(),
            vector: Vector::open(heap, "vector").unwrap(),
            heap: heap.clone(),
        }
    }
}

impl Subject for Containers {
    type Op = Op;
    type State = State;

    fn open(heap: &SimulatedHeap, _: &Memory) -> Self {
        Self::made(heap)
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Put(number) => self
                .heap
                .transaction(|tx| {
                    let value = value(number);
                    tx.open(&self.tree)?.insert(&number, &value)?;
                    tx.open(&self.map)?.insert(&number, &value)?;
                    tx.open(&self.queue)?.push(&value)?;
                    tx.open(&self.vector)?.push(&[number; 2])
                })
                .unwrap(),
            Take(number) => self
                .heap
                .transaction(|tx| {
                    tx.open(&self.tree)?.remove(&number)?;
                    tx.open(&self.map)?.remove(&number)?;
                    tx.open(&self.queue)?.pop().map(drop)
                })
                .unwrap(),
            Compact(objects) => drop(self.heap.compact_some(objects).unwrap()),
        }
    }

    fn state(&self) -> State {
        let numbers: Model<_, _> = self.tree.iter().collect::<Result<_, _>>().unwrap();
        let same: Model<_, _> = self.map.iter().collect::<Result<_, _>>().unwrap();
        assert_eq!(numbers, same, "the maps differ");
        for (number, value) in &numbers {
            assert_eq!(self.tree.get(number).unwrap().as_ref(), Some(value));
            assert_eq!(self.map.get(number).unwrap().as_ref(), Some(value));
        }
        let queue = self.queue.iter().collect::<Result<_, _>>().unwrap();
        let vector = self.vector.len().unwrap();
        State {
            numbers,
            queue,
            vector,
        }
    }

    fn objects(&self) -> Vec<u64> {
        let maps = [self.tree.objects().unwrap(), self.map.objects().unwrap()];
        let others = [
            self.queue.objects().unwrap(),
            self.vector.objects().unwrap(),
        ];
        [maps.concat(), others.concat()].concat()
    }

    fn model(state: &mut State, op: &Op) {
        match *op {
            Put(number) => {
                state.numbers.insert(number, value(number));
                state.queue.push_back(value(number));
                state.vector += 1;
            }
            Take(number) => {
                state.numbers.remove(&number);
                state.queue.pop_front();
            }
            Compact(_) => {}
        }
    }

    /// What is left can be compacted, and changed again.
    fn go_on(&mut self, mut state: State) {
        self.heap.compact().unwrap();
        assert_eq!(self.state(), state);
        Self::model(&mut state, &Put(5000));
        self.apply(&Put(5000));
        assert_eq!(self.state(), state);
    }
}

/// Numbers come, most of them go, and what is left is compacted by calls of so many objects.
fn ops(count: u64, keep: u64, objects: u64) -> Vec<(usize, Op)> {
    let mut ops: Vec<(usize, Op)> = (0..count)
        .map(|n| ((n % 2) as usize, Put(n * 7 % count)))
        .collect();
    ops.extend(
        (0..count)
            .filter(|n| n % keep > 0)
            .map(|n| ((n % 3) as usize, Take(n))),
    );
    // Each pass looks at all twice, and some objects need a pass of their own.
    let calls = (count / keep * 8 + 120) / objects + 2;
    ops.extend((0..calls * 2).map(|call| ((call % 3) as usize, Compact(objects))));
    ops
}

#[test]
fn crashes_while_few_objects_move() {
    let effort = Effort {
        pool: 512 << 10,
        images: 3,
        again: 1,
        ..Effort::default()
    };
    run::<Containers>(&ops(40, 8, 1), effort);
}

#[test]
fn crashes_while_objects_move_on_pages_with_a_journal() {
    for (granule, journal) in [(Granule::Sector, false), (Granule::Page, true)] {
        let effort = Effort {
            pool: 1 << 20,
            images: 2,
            granule,
            journal,
            sparse: true,
            ..Effort::default()
        };
        run::<Containers>(&ops(120, 9, 40), effort);
    }
}

/// Runs have room for several segments of a queue, which move and have checks of their place.
#[test]
fn crashes_while_objects_with_checksums_move() {
    let effort = Effort {
        pool: 1 << 20,
        images: 2,
        checksums: true,
        ..Effort::default()
    };
    run_in::<Containers>(&ops(120, 9, 40), (16 << 10, 2), effort);
}

/// What can be seen of a pool, after it was found sound.
fn contents(medium: &Simulated) -> State {
    let copy = || Simulated::from_bytes(&medium.bytes(), Granule::Line);
    assert_eq!(terrace_heap::check::check(copy()), []);
    let heap = open(Arc::new(copy())).unwrap();
    let containers = Containers::made(&heap);
    let mut reached = containers.objects();
    reached.sort_unstable();
    assert_eq!(reached, used(&heap), "what is reached is not what is used");
    containers.state()
}

/// Containers without a handle.
#[test]
fn crashes_while_objects_of_closed_containers_move() {
    [false, true]
        .into_iter()
        .for_each(move_in_closed_containers);
}

fn move_in_closed_containers(checksums: bool) {
    let medium = Arc::new(Simulated::new(512 << 10, Granule::Line));
    let heap = create(Arc::clone(&medium), &options(2).checksums(checksums));
    let mut containers = Containers::made(&heap);
    for (_, op) in ops(90, 8, u64::MAX) {
        match op {
            Compact(_) => break,
            op => containers.apply(&op),
        }
    }
    drop((containers, heap));
    let medium = Arc::new(Simulated::from_bytes(&medium.bytes(), Granule::Line));
    let expected = contents(&medium);
    let looked = Arc::new(Mutex::new(0));
    let (count, same) = (Arc::clone(&looked), expected.clone());
    medium.at_fence(move |medium| {
        for image in medium.crash_images(4, 3) {
            *count.lock().unwrap() += 1;
            assert_eq!(contents(&image), same);
        }
    });
    let heap = open(Arc::clone(&medium)).unwrap();
    let mut moved = 0;
    loop {
        let done = heap.compact_some(30).unwrap();
        moved += done.moved;
        if done.left == 0 {
            break;
        }
    }
    drop(heap);
    assert_eq!(contents(&medium), expected);
    let looked = *looked.lock().unwrap();
    assert!(looked > 20 && moved > 10, "{looked} {moved}");
}
