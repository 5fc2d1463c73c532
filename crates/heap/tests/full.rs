//! Pools without room: what is refused is not there, what is not refused is, and all open again.

use std::sync::Arc;

use terrace_heap::containers::{BTreeMap, HashMap};
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Cause, Place, Ptr, Result};

#[path = "common/mod.rs"]
mod common;
use common::{Memory, TestHeap, create, open, options, used};

/// Attempts in a row that are refused before a pool is taken for full.
const REFUSED: u64 = 40;

/// A map, however it is made.
trait Map {
    fn open(heap: &TestHeap) -> Self;
    fn insert(&self, key: u64, value: &[u8]) -> Result<Option<Vec<u8>>>;
    fn get(&self, key: u64) -> Option<Vec<u8>>;
    fn objects(&self) -> Vec<u64>;
}

impl Map for HashMap<u64, [u8], Memory> {
    fn open(heap: &TestHeap) -> Self {
        Self::open_with_capacity(heap, "map", 1).unwrap()
    }
    fn insert(&self, key: u64, value: &[u8]) -> Result<Option<Vec<u8>>> {
        self.insert(&key, value)
    }
    fn get(&self, key: u64) -> Option<Vec<u8>> {
        self.get(&key).unwrap()
    }
    fn objects(&self) -> Vec<u64> {
        self.objects().unwrap()
    }
}

impl Map for BTreeMap<u64, [u8], Memory> {
    fn open(heap: &TestHeap) -> Self {
        Self::open(heap, "map").unwrap()
    }
    fn insert(&self, key: u64, value: &[u8]) -> Result<Option<Vec<u8>>> {
        self.insert(&key, value)
    }
    fn get(&self, key: u64) -> Option<Vec<u8>> {
        self.get(&key).unwrap()
    }
    fn objects(&self) -> Vec<u64> {
        self.objects().unwrap()
    }
}

fn value(key: u64, bytes: u64) -> Vec<u8> {
    vec![key as u8; (bytes + key % 5 * bytes) as usize]
}

/// Inserts until nothing fits any more, looking after each.
fn fill<M: Map>(bytes: u64) {
    let pool: Memory = Arc::new(Simulated::new(192 << 10, Granule::Line));
    let heap = create(Arc::clone(&pool), &options(2));
    let map = M::open(&heap);
    let (mut there, mut refused) = (Vec::new(), 0);
    for key in 0.. {
        let inserted = map.insert(key, &value(key, bytes));
        match &inserted {
            Ok(old) => {
                assert_eq!(*old, None);
                there.push(key);
            }
            Err(error) => {
                assert_eq!(error.cause(), Cause::Full, "{error}");
                refused += 1;
            }
        }
        assert_eq!(
            map.get(key).is_some(),
            inserted.is_ok(),
            "{key}: {inserted:?}"
        );
        if refused == REFUSED {
            break;
        }
    }
    assert!(!there.is_empty());
    let attempts = there.last().unwrap() + REFUSED;
    let expect_all = |map: &M, heap: &TestHeap| {
        for key in 0..attempts {
            let expected = there.contains(&key).then(|| value(key, bytes));
            assert_eq!(map.get(key), expected, "{key}");
        }
        let mut reached = map.objects();
        reached.sort_unstable();
        assert_eq!(reached, used(heap));
    };
    expect_all(&map, &heap);
    for left in pool.crash_images(20, bytes) {
        let heap = open(Arc::new(left)).unwrap();
        expect_all(&M::open(&heap), &heap);
    }
}

#[test]
fn an_insert_that_is_refused_is_not_there_and_one_that_is_not_is() {
    for bytes in [8, 60, 500, 3000] {
        fill::<HashMap<u64, [u8], Memory>>(bytes);
        fill::<BTreeMap<u64, [u8], Memory>>(bytes);
    }
}

/// Lines of an object.
const LINES: u64 = 20;

/// A pool whose last chunk alone is free, and an object of zeros.
fn with_a_free_chunk_at_the_end() -> Vec<u8> {
    const CHUNKS: u64 = 32;
    let pool: Memory = Arc::new(Simulated::new(CHUNKS * 4096, Granule::Line));
    let heap = create(Arc::clone(&pool), &options(1));
    heap.publish_zeros(heap.root("object", 0).unwrap(), 64 * LINES)
        .unwrap();
    let mut room = 0;
    while heap.usage().unwrap().free > 4096 {
        let place = heap.root(&format!("room {room}"), 0).unwrap();
        heap.publish_bytes(place, &[1; 4096]).unwrap();
        room += 1;
    }
    drop(heap);
    pool.bytes()
}

/// A first entry of another length each time, and then those of single words, until one ends with
/// the pool.
#[test]
fn a_journal_that_is_exactly_full_at_the_end_of_the_pool_opens() {
    let bytes = with_a_free_chunk_at_the_end();
    let last = bytes.len() - 8;
    let mut full = 0;
    for lines in 1..=LINES {
        let pool = Simulated::from_bytes(&bytes, Granule::Line).writing_pages();
        let pool: Memory = Arc::new(pool);
        let heap = open(Arc::clone(&pool)).unwrap();
        let place: Place<u8> = heap.root("object", 0).unwrap();
        let word: Ptr<u64> = heap.read(place).unwrap().cast();
        heap.persist(word.offset(), 64 * lines).unwrap();
        for value in 1..30 {
            heap.set(word, value).unwrap();
            let now = pool.bytes();
            full += u32::from(now[last..] != [0; 8]);
            let left = Simulated::from_bytes(&now, Granule::Line).writing_pages();
            let left = open(Arc::new(left)).unwrap();
            assert_eq!(left.read(word), Ok(value));
        }
    }
    assert!(full > 0, "no journal was full");
}
