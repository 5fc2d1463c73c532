//! Pools that programs of format versions 2 and 3 have made (`pools/`): they open, hold what they
//! held, and become pools of version 5, whenever that is interrupted.
//!
//! Each has chunks of 4 KiB and 2 lanes. What they hold is said by the functions of [`Containers`].

use std::io::Write;
use std::sync::{Arc, Mutex};

use terrace_heap::check::check;
use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Heap, Mapped, Medium, Mode, Ptr, Result};

mod common;
use common::{Memory, open, used};

const CLOSED: &[u8] = include_bytes!("pools/v2-closed.pool.zst");
const NOT_CLOSED: &[u8] = include_bytes!("pools/v2-not-closed.pool.zst");
/// A change in place was under way.
const IN_PLACE: &[u8] = include_bytes!("pools/v2-in-place.pool.zst");
/// It was committed.
const IN_PLACE_COMMITTED: &[u8] = include_bytes!("pools/v2-in-place-committed.pool.zst");
const V3_CLOSED: &[u8] = include_bytes!("pools/v3-closed.pool.zst");
const V3_NOT_CLOSED: &[u8] = include_bytes!("pools/v3-not-closed.pool.zst");
/// On a plain file, with a journal that was not cleared.
const JOURNAL: &[u8] = include_bytes!("pools/v2-journal.pool.zst");

type Text = [u8; 20];
type Numbers = [u64; 5];

/// All that a pool holds.
#[derive(Debug, PartialEq)]
struct Contents {
    map: Vec<(u64, [u64; 3])>,
    tree: Vec<(u64, Text)>,
    queue: Vec<[u8; 12]>,
    vector: Vec<[u64; 2]>,
    numbers: Numbers,
}

impl Contents {
    fn expected() -> Self {
        let mut tree: Vec<_> = (0..150u64)
            .filter(|i| i % 4 != 0)
            .map(|i| i * 7919 % 1009)
            .map(|key| (key, [key as u8; 20]))
            .collect();
        tree.sort_unstable();
        let mut vector: Vec<_> = (0..299u64).map(|i| [i, !i]).collect();
        vector[7] = [70, 71];
        Self {
            map: (0..120)
                .filter(|key| key % 5 != 0)
                .map(|key| (key, [key, 2 * key, 3 * key]))
                .collect(),
            tree,
            // One of three was popped again.
            queue: (234..700u64).map(|i| [i as u8; 12]).collect(),
            vector,
            numbers: [1, 2, 3, 4, 5],
        }
    }
}

struct Containers<M: Medium> {
    map: HashMap<u64, [u64; 3], M>,
    tree: BTreeMap<u64, Text, M>,
    empty_tree: BTreeMap<u32, (), M>,
    queue: Queue<[u8; 12], M>,
    empty_queue: Queue<u64, M>,
    vector: Vector<[u64; 2], M>,
    /// An object that the program follows by itself.
    numbers: Ptr<Numbers>,
    heap: Heap<M>,
}

impl<M: Medium> Containers<M> {
    fn open(heap: &Heap<M>) -> Result<Self> {
        Ok(Self {
            map: HashMap::open(heap, "map")?,
            tree: BTreeMap::open(heap, "tree")?,
            empty_tree: BTreeMap::open(heap, "empty tree")?,
            queue: Queue::open(heap, "queue")?,
            empty_queue: Queue::open(heap, "empty queue")?,
            vector: Vector::open(heap, "vector")?,
            numbers: numbers(heap)?,
            heap: heap.clone(),
        })
    }

    fn contents(&self) -> Result<Contents> {
        assert!(self.empty_tree.is_empty()? && self.empty_queue.is_empty()?);
        assert_eq!(self.empty_tree.iter().count(), 0);
        let mut map = self.map.iter().collect::<Result<Vec<_>>>()?;
        map.sort_unstable();
        Ok(Contents {
            map,
            tree: self.tree.iter().collect::<Result<_>>()?,
            queue: self.queue.iter().collect::<Result<_>>()?,
            vector: self.vector.iter().collect::<Result<_>>()?,
            numbers: self.heap.read(self.numbers)?,
        })
    }

    /// Changes all of them, and finds that.
    fn go_on(&self) -> Result<()> {
        for key in 1000..1200 {
            self.map.insert(&key, &[key; 3])?;
            self.tree.insert(&key, &[1; 20])?;
            self.empty_tree.insert(&(key as u32), &())?;
            self.queue.push(&[2; 12])?;
            self.empty_queue.push(&key)?;
            self.vector.push(&[key; 2])?;
        }
        assert_eq!(self.map.len()?, 96 + 200);
        assert_eq!(self.map.get(&1100)?, Some([1100; 3]));
        // Some of the new keys are among the old ones.
        let old = Contents::expected().tree;
        let twice = old.iter().filter(|(key, _)| *key >= 1000).count();
        assert_eq!(self.tree.len()?, (old.len() + 200 - twice) as u64);
        assert_eq!(self.empty_tree.first()?, Some((1000, ())));
        assert_eq!(self.queue.len()?, 466 + 200);
        assert_eq!(self.empty_queue.pop()?, Some(1000));
        assert_eq!(self.vector.get(498)?, Some([1199; 2]));
        Ok(())
    }

    fn objects(&self) -> Result<Vec<u64>> {
        let mut all = self.map.objects()?;
        all.extend(self.tree.objects()?);
        all.extend(self.empty_tree.objects()?);
        all.extend(self.queue.objects()?);
        all.extend(self.empty_queue.objects()?);
        all.extend(self.vector.objects()?);
        all.push(self.numbers.offset());
        all.sort_unstable();
        Ok(all)
    }
}

fn numbers<M: Medium>(heap: &Heap<M>) -> Result<Ptr<Numbers>> {
    heap.read(heap.root("numbers", 7)?)
}

fn unpack(pool: &[u8]) -> Vec<u8> {
    zstd::decode_all(pool).unwrap()
}

fn memory(pool: &[u8]) -> Memory {
    Arc::new(Simulated::from_bytes(pool, Granule::Line))
}

fn version(pool: &[u8]) -> u8 {
    pool[8]
}

#[test]
fn containers_hold_what_they_held() {
    for pool in [CLOSED, NOT_CLOSED, V3_CLOSED, V3_NOT_CLOSED] {
        let pool = memory(&unpack(pool));
        assert_eq!(check(Arc::clone(&pool)), []);
        let heap = open(Arc::clone(&pool)).unwrap();
        let containers = Containers::open(&heap).unwrap();
        assert_eq!(containers.contents(), Ok(Contents::expected()));
        assert_eq!(containers.objects().unwrap(), used(&heap));
        containers.go_on().unwrap();
        assert_eq!(containers.objects().unwrap(), used(&heap));
        drop(containers);
        heap.close().unwrap();
        assert_eq!(version(&pool.bytes()), 5);

        let again = memory(&pool.bytes());
        assert_eq!(check(Arc::clone(&again)), []);
        let heap = open(again).unwrap();
        let containers = Containers::open(&heap).unwrap();
        assert_eq!(containers.map.len(), Ok(296));
        assert_eq!(containers.objects().unwrap(), used(&heap));
    }
}

#[test]
fn becoming_a_newer_pool_can_be_interrupted_at_any_fence() {
    for pool in [CLOSED, NOT_CLOSED, V3_CLOSED, V3_NOT_CLOSED] {
        let memory = memory(&unpack(pool));
        let left = Arc::new(Mutex::new((0, Vec::new())));
        let look = Arc::clone(&left);
        memory.at_fence(move |memory| {
            let (moments, images) = &mut *look.lock().unwrap();
            *moments += 1;
            images.extend(memory.crash_images(2, *moments));
        });
        let heap = open(Arc::clone(&memory)).unwrap();
        Containers::open(&heap).unwrap();
        memory.at_fence(|_| ());
        let (moments, images) = std::mem::take(&mut *left.lock().unwrap());
        assert!(moments > 10, "{moments}");
        for image in images {
            let memory = Arc::new(image);
            let heap = open(Arc::clone(&memory)).unwrap();
            let containers = Containers::open(&heap).unwrap();
            assert_eq!(containers.contents(), Ok(Contents::expected()));
            assert_eq!(containers.objects().unwrap(), used(&heap));
        }
    }
}

#[test]
fn what_was_changed_in_place_is_undone_unless_it_was_committed() {
    for (pool, expected) in [
        (IN_PLACE, [10, 2, 3, 4, 5]),
        (IN_PLACE_COMMITTED, [10, 20, 30, 40, 5]),
    ] {
        let heap = open(memory(&unpack(pool))).unwrap();
        assert_eq!(heap.read(numbers(&heap).unwrap()), Ok(expected));
    }
}

#[test]
fn a_journal_is_replayed() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&unpack(JOURNAL)).unwrap();
    let look = Mapped::open(file.path(), Mode::Private).unwrap();
    assert_eq!(check(look), []);
    let heap = Heap::open(file.path()).unwrap();
    let map = HashMap::<u64, [u64; 3]>::open(&heap, "map").unwrap();
    assert_eq!(map.len(), Ok(100));
    for key in 0..100 {
        assert_eq!(map.get(&key), Ok(Some([key, 2 * key, 3 * key])), "{key}");
    }
    drop(map);
    heap.close().unwrap();
    assert_eq!(version(&std::fs::read(file.path()).unwrap()), 5);
}

/// Containers of version 3 have no record of their types, and get one by the first opening.
#[test]
fn containers_record_the_types_with_which_they_are_opened_first() {
    let pool = memory(&unpack(V3_CLOSED));
    let heap = open(Arc::clone(&pool)).unwrap();
    let error = BTreeMap::<i32, (), _>::open(&heap, "tree").err().unwrap();
    assert!(error.to_string().contains("keys of 8 bytes"), "{error}");
    // Numbers from 1 to 1000, whose bytes have another order.
    let error = BTreeMap::<[u8; 8], Text, _>::open(&heap, "tree").err();
    let sentence = "the ordered map \"tree\" has keys that are not in the order of [u8; 8]; it was made \
                    with keys of another type";
    assert_eq!(error.unwrap().to_string(), sentence);
    let containers = Containers::open(&heap).unwrap();
    assert_eq!(containers.contents(), Ok(Contents::expected()));
    drop(containers);
    heap.close().unwrap();
    let heap = open(memory(&pool.bytes())).unwrap();
    let error = BTreeMap::<i64, Text, _>::open(&heap, "tree").err().unwrap();
    let sentence = "the ordered map \"tree\" holds u64 (8 bytes) to [u8; 20] (20 bytes), and was to be \
                    opened as one of i64 (8 bytes) to [u8; 20] (20 bytes); open it with the types that it \
                    holds";
    assert_eq!(error.to_string(), sentence);
    HashMap::<i64, [u64; 3], _>::open(&heap, "map")
        .err()
        .unwrap();
    Queue::<[i8; 12], _>::open(&heap, "queue").err().unwrap();
    Vector::<[i64; 2], _>::open(&heap, "vector").err().unwrap();
    assert_eq!(
        Containers::open(&heap).unwrap().contents(),
        Ok(Contents::expected())
    );
}
