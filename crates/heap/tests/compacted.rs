//! Compaction of containers: the room that it makes, and programs that go on meanwhile.

use std::collections::{BTreeMap as Model, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_heap::check::check;
use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::{Cause, Heap, Mapped, Medium, Mode, Options, Result};

#[path = "common/mod.rs"]
mod common;
use common::{create, used};

/// A value that tells its key and its version.
fn value(key: u64, version: u64, len: usize) -> Vec<u8> {
    let mut value = vec![(key * 7 + version) as u8; len.max(16)];
    value[..8].copy_from_slice(&key.to_le_bytes());
    value[8..16].copy_from_slice(&version.to_le_bytes());
    value
}

/// Numbers below `count` in a random order.
fn shuffled(count: u64, seed: u64) -> Vec<u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut numbers: Vec<u64> = (0..count).collect();
    for i in (1..numbers.len()).rev() {
        numbers.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
    }
    numbers
}

/// How many values of 4,000 bytes have room.
fn room<M: Medium>(heap: &Heap<M>) -> u64 {
    let large = BTreeMap::<u64, [u8], M>::open(heap, "large").unwrap();
    let mut count = 0;
    loop {
        match large.insert(&count, &[7; 4000]) {
            Err(error) if error.cause() == Cause::Full => break,
            inserted => drop(inserted.unwrap()),
        }
        count += 1;
    }
    large.clear().unwrap();
    count
}

const POOL: u64 = 16 << 20;

/// A pool whose contents have checksums, or not.
fn pool(bytes: u64, checksums: bool) -> Heap {
    let options = Options::default().checksums(checksums);
    create(Mapped::anonymous(bytes).unwrap(), &options)
}

/// Fills a pool with values of 200 bytes, and removes nine of ten at random; returns what is left.
fn fragment(insert: impl Fn(u64) -> Result<()>, remove: impl Fn(u64)) -> Vec<u64> {
    let mut count = 0;
    for number in shuffled(1 << 18, 1) {
        match insert(number) {
            Err(error) if error.cause() == Cause::Full => break,
            inserted => inserted.unwrap(),
        }
        count += 1;
    }
    let mut there = shuffled(1 << 18, 1);
    there.truncate(count);
    let left: Vec<u64> = there
        .iter()
        .copied()
        .filter(|n| n * 77 % 1000 < 100)
        .collect();
    for number in there.iter().filter(|&n| n * 77 % 1000 >= 100) {
        remove(*number);
    }
    left
}

/// A map from numbers to bytes, ordered or not.
trait Map: Sized {
    fn open(heap: &Heap, name: &str) -> Self;
    fn insert(&self, key: u64, value: &[u8]) -> Result<()>;
    fn remove(&self, key: u64) -> Result<()>;
    fn get(&self, key: u64) -> Result<Option<Vec<u8>>>;
    fn len(&self) -> Result<u64>;
}

macro_rules! map {
    ($name:ident) => {
        impl Map for $name<u64, [u8]> {
            fn open(heap: &Heap, name: &str) -> Self {
                $name::open(heap, name).unwrap()
            }

            fn insert(&self, key: u64, value: &[u8]) -> Result<()> {
                $name::insert(self, &key, value).map(drop)
            }

            fn remove(&self, key: u64) -> Result<()> {
                $name::remove(self, &key).map(drop)
            }

            fn get(&self, key: u64) -> Result<Option<Vec<u8>>> {
                $name::get(self, &key)
            }

            fn len(&self) -> Result<u64> {
                $name::len(self)
            }
        }
    };
}

map!(BTreeMap);
map!(HashMap);

/// Compacts a fragmented map; returns how many large values have room then, and beside a new map of
/// the same.
fn compact_a_fragmented<M: Map>(checksums: bool) -> (u64, u64) {
    let heap = pool(POOL, checksums);
    let map = M::open(&heap, "map");
    let left = fragment(
        |n| map.insert(n, &value(n, 0, 200)),
        |n| map.remove(n).unwrap(),
    );
    let before = room(&heap);
    let freed = heap.compact().unwrap();
    let after = room(&heap);

    let new = pool(POOL, checksums);
    let other = M::open(&new, "map");
    for &n in &left {
        other.insert(n, &value(n, 0, 200)).unwrap();
    }
    let fresh = room(&new);
    println!(
        "{} left; {before}, {freed} bytes freed, {after}; new {fresh}",
        left.len()
    );
    assert_eq!(map.len(), Ok(left.len() as u64));
    for &n in &left {
        assert_eq!(map.get(n).unwrap(), Some(value(n, 0, 200)));
    }
    (after, fresh)
}

#[test]
fn a_fragmented_tree_leaves_as_much_room_as_a_new_one() {
    for checksums in [false, true] {
        let (after, fresh) = compact_a_fragmented::<BTreeMap<u64, [u8]>>(checksums);
        // The tree has as few chunks as the new one. The log of the lane has 8 chunks more:
        // removing nodes needed a larger one.
        assert!(after + 8 * 16 >= fresh, "{after} of {fresh}");
    }
}

#[test]
fn a_fragmented_hash_map_leaves_as_much_room_as_its_table_allows() {
    for checksums in [false, true] {
        let (after, fresh) = compact_a_fragmented::<HashMap<u64, [u8]>>(checksums);
        // The segments of the map's table stay.
        assert!(after * 100 >= fresh * 85, "{after} of {fresh}");
    }
}

/// A program's containers, and their twins, of one thread.
struct Work<'h, M: Medium> {
    tree: BTreeMap<u64, [u8], M>,
    map: HashMap<[u8], [u8], M>,
    queue: Queue<[u8], M>,
    vector: Vector<[u64; 3], M>,
    twins: Twins,
    random: Xoshiro256PlusPlus,
    heap: &'h Heap<M>,
}

/// What the containers hold.
#[derive(Clone, Debug, Default, PartialEq)]
struct Twins {
    tree: Model<u64, Vec<u8>>,
    map: Model<Vec<u8>, Vec<u8>>,
    queue: VecDeque<Vec<u8>>,
    vector: Vec<[u64; 3]>,
}

impl<'h, M: Medium> Work<'h, M> {
    fn open(heap: &'h Heap<M>, seed: u64) -> Result<Self> {
        Ok(Self {
            tree: BTreeMap::open(heap, &format!("tree {seed}"))?,
            map: HashMap::open(heap, &format!("map {seed}"))?,
            queue: Queue::open(heap, &format!("queue {seed}"))?,
            vector: Vector::open(heap, &format!("vector {seed}"))?,
            twins: Twins::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            heap,
        })
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    /// Some are of parts; the last may be short.
    fn value(&mut self, key: u64) -> Vec<u8> {
        let len = match self.below(40) {
            0 => 70_000 + self.below(500),
            1..6 => 1000 + self.below(3000),
            _ => 16 + self.below(250),
        };
        value(key, self.below(1 << 20), len as usize)
    }

    /// One change, or a few by one transaction; one transaction in three fails.
    fn change(&mut self) -> Result<()> {
        let keys = 400;
        let (key, kind) = (self.below(keys), self.below(8));
        let value = self.value(key);
        let named = key.to_le_bytes().repeat(1 + key as usize % 9);
        match kind {
            0 => {
                let before = self.twins.tree.insert(key, value.clone());
                assert_eq!(self.tree.insert(&key, &value)?, before);
            }
            1 => {
                let before = self.twins.map.insert(named.clone(), value.clone());
                assert_eq!(self.map.insert(&named, &value)?, before);
            }
            2 => assert_eq!(self.tree.remove(&key)?, self.twins.tree.remove(&key)),
            3 => assert_eq!(self.map.remove(&named)?, self.twins.map.remove(&named)),
            4 => {
                self.queue.push(&value)?;
                self.twins.queue.push_back(value);
            }
            5 => assert_eq!(self.queue.pop()?, self.twins.queue.pop_front()),
            6 => {
                self.vector.push(&[key; 3])?;
                self.twins.vector.push([key; 3]);
            }
            _ => {
                let fails = self.below(3) == 0;
                let (tree, queue) = (&self.tree, &self.queue);
                let done = self.heap.transaction(|tx| {
                    tx.open(tree)?.insert(&key, &value)?;
                    tx.open(queue)?.push(&value)?;
                    match fails {
                        true => Err(terrace_heap::Error::usage("on purpose")),
                        false => Ok(()),
                    }
                });
                assert_eq!(done.is_err(), fails);
                if !fails {
                    self.twins.tree.insert(key, value.clone());
                    self.twins.queue.push_back(value);
                }
            }
        }
        Ok(())
    }

    /// Looks at single entries, and at times at all.
    fn look(&mut self) -> Result<()> {
        let key = self.below(400);
        let named = key.to_le_bytes().repeat(1 + key as usize % 9);
        assert_eq!(self.tree.get(&key)?.as_ref(), self.twins.tree.get(&key));
        assert_eq!(self.map.get(&named)?.as_ref(), self.twins.map.get(&named));
        assert_eq!(self.queue.front()?.as_ref(), self.twins.queue.front());
        if self.below(50) > 0 {
            return Ok(());
        }
        // By iterators, behind which things move.
        let mut back = self.tree.iter().rev();
        let twins = self.twins.tree.iter().rev();
        for (key, value) in twins {
            assert_eq!(back.next().transpose()?, Some((*key, value.clone())));
        }
        assert_eq!(self.found()?, self.twins);
        Ok(())
    }

    fn found(&self) -> Result<Twins> {
        Ok(Twins {
            tree: self.tree.iter().collect::<Result<_>>()?,
            map: self.map.iter().collect::<Result<_>>()?,
            queue: self.queue.iter().collect::<Result<_>>()?,
            vector: self.vector.iter().collect::<Result<_>>()?,
        })
    }

    fn objects(&self) -> Result<Vec<u64>> {
        let maps = [self.tree.objects()?, self.map.objects()?];
        Ok([maps.concat(), self.queue.objects()?, self.vector.objects()?].concat())
    }
}

/// Threads read and write, each containers of its own, while another one compacts the pool in small
/// steps.
#[test]
fn threads_find_what_they_have_put_while_all_moves() {
    [false, true].into_iter().for_each(move_below_threads);
}

fn move_below_threads(checksums: bool) {
    const THREADS: u64 = 3;
    let heap = pool(48 << 20, checksums);
    let ended = AtomicBool::new(false);
    let moved = thread::scope(|scope| {
        let work = |seed| {
            let heap = &heap;
            move || {
                let mut work = Work::open(heap, seed).unwrap();
                for _ in 0..6000 {
                    work.change().unwrap();
                    work.look().unwrap();
                }
                work.twins
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|seed| scope.spawn(work(seed))).collect();
        let compacts = scope.spawn(|| {
            let mut moved = 0;
            while !ended.load(Ordering::Acquire) {
                moved += heap.compact_some(700).unwrap().moved;
            }
            moved
        });
        let twins: Vec<Twins> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        ended.store(true, Ordering::Release);
        let moved = compacts.join().unwrap();
        heap.compact().unwrap();
        let mut reached = Vec::new();
        for (seed, twins) in twins.into_iter().enumerate() {
            let work = Work::open(&heap, seed as u64).unwrap();
            assert_eq!(work.found().unwrap(), twins);
            reached.extend(work.objects().unwrap());
        }
        reached.sort_unstable();
        assert_eq!(reached, used(&heap));
        moved
    });
    assert!(moved > 0);
}

/// The bound of a call, and its figures.
#[test]
fn a_call_looks_at_as_many_objects_as_it_may() {
    let heap = Heap::anonymous(POOL).unwrap();
    let tree = BTreeMap::<u64, [u8]>::open(&heap, "tree").unwrap();
    let left = fragment(
        |n| tree.insert(&n, &value(n, 0, 200)).map(drop),
        |n| drop(tree.remove(&n).unwrap()),
    );
    let (mut calls, mut freed, mut moved) = (0, 0, 0);
    loop {
        let done = heap.compact_some(1000).unwrap();
        // A step may end behind the bound.
        assert!(done.moved <= 1000 + 256, "{done:?}");
        (calls, freed, moved) = (calls + 1, freed + done.freed, moved + done.moved);
        if done.left == 0 {
            break;
        }
        // Nothing is lost between two calls, nor if there are no others.
        assert_eq!(tree.len(), Ok(left.len() as u64));
    }
    assert!(calls > 5 && moved > 3000, "{calls} {moved}");
    assert!(freed > POOL / 2, "{freed}");
    assert_eq!(heap.compact_some(u64::MAX).unwrap().moved, 0);
}

/// Where no handle of a container exists, and where one is opened between two calls.
#[test]
fn containers_without_handles_are_compacted_too() {
    [false, true].into_iter().for_each(compact_without_handles);
}

fn compact_without_handles(checksums: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let options = Options::default().checksums(checksums);
    let heap = Heap::create_with(&path, 24 << 20, Mode::Lines, &options).unwrap();
    let mut work = Work::open(&heap, 1).unwrap();
    for _ in 0..6000 {
        work.change().unwrap();
    }
    for key in (0..400).filter(|key| key % 10 > 0) {
        work.tree.remove(&key).unwrap();
        work.twins.tree.remove(&key);
    }
    let twins = work.twins.clone();
    drop(work);
    heap.close().unwrap();
    let heap = Heap::open(&path).unwrap();
    let mut moved = 0;
    for open in [false, true] {
        loop {
            let done = heap.compact_some(50).unwrap();
            moved += done.moved;
            if done.left == 0 {
                break;
            }
            if open {
                assert_eq!(Work::open(&heap, 1).unwrap().found().unwrap(), twins);
            }
        }
    }
    assert!(moved > 50, "{moved}");
    heap.close().unwrap();
    assert_eq!(check(Mapped::open(&path, Mode::Lines).unwrap()), []);
    let heap = Heap::open(&path).unwrap();
    let work = Work::open(&heap, 1).unwrap();
    assert_eq!(work.found().unwrap(), twins);
    let mut reached = work.objects().unwrap();
    reached.sort_unstable();
    assert_eq!(reached, used(&heap));
}

/// A container that is removed in the middle of a pass, and a thread that may not compact.
#[test]
fn what_is_removed_meanwhile_is_no_more_compacted() {
    let heap = Heap::anonymous(POOL).unwrap();
    let tree = BTreeMap::<u64, [u8]>::open(&heap, "tree").unwrap();
    for n in shuffled(2000, 1) {
        tree.insert(&n, &value(n, 0, 200)).unwrap();
    }
    assert!(heap.compact_some(100).unwrap().left > 0);
    drop(tree);
    assert!(heap.remove("tree").unwrap());
    heap.compact().unwrap();
    assert!(used(&heap).is_empty());
    let within: Result<u64> = heap.transaction(|_| heap.compact());
    assert_eq!(within.unwrap_err().cause(), Cause::Usage);
}
