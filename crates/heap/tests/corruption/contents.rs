//! Pools whose contents have checksums: whatever bits and words are damaged, a container returns
//! what was written to it, or an error.
//!
//! `TERRACE_DAMAGED` pools are damaged, 300 by default.

use std::cell::Cell;
use std::collections::BTreeMap as Twin;
use std::sync::{Arc, LazyLock};

use terrace_heap::check::check;
use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Cause, Error, Heap, Medium, Result, use_lane};

use crate::common::{Memory, TestHeap, create, open, options};

const BYTES: u64 = 8 << 20;
const ENTRIES: u64 = 150;

/// A closed pool with checksums, and what there is to damage.
struct Pool {
    bytes: Vec<u8>,
    places: Places,
}

/// Where there is something to damage.
pub struct Places {
    /// Offsets of words that are not 0.
    filled: Vec<usize>,
    /// The objects of the pool, and its roots: offsets and bytes.
    objects: Vec<(usize, usize)>,
}

/// Bytes of a chunk: with the smaller one a value has several parts, with the larger one a run has
/// room for several segments of a queue, so that they can move.
const CHUNKS: [u64; 2] = [4 << 10, 16 << 10];

/// Pools whose objects are where they were made, and pools whose objects have moved.
static POOLS: LazyLock<[Pool; 4]> = LazyLock::new(|| {
    let [small, large] = CHUNKS;
    [(small, false), (small, true), (large, false), (large, true)].map(Pool::make)
});

impl Pool {
    fn make((chunk, compacted): (u64, bool)) -> Self {
        use_lane(0);
        let memory = Arc::new(Simulated::new(BYTES, Granule::Line));
        let options = options(2).checksums(true).chunk_bytes(chunk);
        let heap = create(Arc::clone(&memory), &options);
        fill(&heap).unwrap();
        for between in ["between", "words between", "pairs between"] {
            heap.remove(between).unwrap();
        }
        if compacted {
            compact(&heap, chunk);
        }
        let places = Places::of(&heap, &memory.bytes());
        heap.close().unwrap();
        assert_eq!(check(Arc::clone(&memory)), []);
        let bytes = memory.bytes();
        Self { bytes, places }
    }

    fn open(&self) -> TestHeap {
        open(Arc::new(Simulated::from_bytes(&self.bytes, Granule::Line))).unwrap()
    }
}

impl Places {
    /// Returns those of a pool of these bytes.
    pub fn of<M: Medium>(heap: &Heap<M>, bytes: &[u8]) -> Self {
        let objects = heap.objects().unwrap().into_iter();
        let objects = objects.map(|object| (object.offset as usize, object.bytes as usize));
        let roots = heap.roots().unwrap().into_iter();
        let roots = roots.map(|root| (root.place.offset() as usize, 128));
        let (words, _) = bytes.as_chunks::<8>();
        let filled = (0..words.len()).filter(|&i| words[i] != [0; 8]);
        Self {
            filled: filled.map(|i| i * 8).collect(),
            objects: objects.chain(roots).collect(),
        }
    }
}

/// Compacts the pool, until nothing moves any more; objects of all kinds have moved.
fn compact(heap: &TestHeap, chunk: u64) {
    let objects = || heap.objects().unwrap();
    let before = objects();
    while heap.compact().unwrap() > 0 {}
    let stay: Vec<u64> = objects().iter().map(|object| object.offset).collect();
    let moved = before
        .iter()
        .filter(|object| !stay.contains(&object.offset));
    let moved: Vec<u64> = moved.map(|object| object.bytes).collect();
    let kinds = [
        ("lists", 32..33),
        ("entries", 40..160),
        ("nodes", 600..1500),
        ("segments", 4096..5000),
    ];
    for (kind, bytes) in kinds {
        let can_move = bytes.end < chunk / 2 && (kind != "lists" || chunk == CHUNKS[0]);
        let moved = moved.iter().any(|moved| bytes.contains(moved));
        assert!(moved || !can_move, "no {kind} have moved");
    }
}

/// A value of a number: most lie in their entries, some apart, one in several parts.
pub fn value(i: u64) -> Vec<u8> {
    let len = match i {
        7 => 70_000,
        i if i % 50 == 3 => 1500 + i,
        i => i * 7 % 90,
    };
    (0..len).map(|byte| (byte * 11 + i) as u8).collect()
}

fn name(i: u64) -> String {
    format!("{} {i}", "name".repeat(i as usize % 5))
}

/// The lengths of values that go again, and leave room in the runs of others: several in the runs
/// of small ones.
const BETWEEN: [usize; 15] = [
    8, 8, 8, 24, 24, 24, 60, 60, 60, 130, 400, 700, 1000, 1400, 4000,
];

fn element(i: u64) -> [u8; 20] {
    [i as u8; 20]
}

fn fill(heap: &TestHeap) -> Result<()> {
    let between = HashMap::<[u64; 3], [u8], Memory>::open(heap, "between")?;
    let words = HashMap::<u64, u64, Memory>::open(heap, "words between")?;
    let pairs = HashMap::<u64, [u64; 2], Memory>::open(heap, "pairs between")?;
    // Of each kind there are two, so that one could be taken for the other.
    for (number, of) in ["a", "b"].into_iter().enumerate() {
        let add = number as u64;
        let tree = BTreeMap::<u64, [u8], Memory>::open(heap, &format!("tree {of}"))?;
        let names = BTreeMap::<str, str, Memory>::open(heap, &format!("names {of}"))?;
        let map = HashMap::<u64, [u64; 2], Memory>::open(heap, &format!("map {of}"))?;
        let bytes = HashMap::<[u8], [u8], Memory>::open(heap, &format!("bytes {of}"))?;
        let queue = Queue::<[u8], Memory>::open(heap, &format!("queue {of}"))?;
        let numbers = Vector::<u64, Memory>::open(heap, &format!("numbers {of}"))?;
        let elements = Vector::<[u8; 20], Memory>::open(heap, &format!("elements {of}"))?;
        for i in 0..ENTRIES {
            // The order in which nodes are split in all ways; some are changed and removed again.
            let key = i * 37 % ENTRIES;
            tree.insert(&key, &value(key / 2))?;
            tree.insert(&key, &value(key + add))?;
            names.insert(&name(key), &name(key + 1 + add))?;
            map.insert(&key, &[0, 1])?;
            map.insert(&key, &[key, key + add])?;
            bytes.insert(name(key).as_bytes(), &value(key + add))?;
            queue.push(&value(i + add))?;
            numbers.push(&0)?;
            numbers.set(i, &(i + add))?;
            elements.push(&element(i))?;
            elements.set(i, &element(i + add))?;
            for (number, len) in (0..).zip(BETWEEN) {
                let seldom = len > 1000 && i % 2 == 0;
                between.insert(&[add, i, number], &vec![1; if seldom { 0 } else { len }])?;
                let key = add << 40 | i << 20 | number;
                words.insert(&key, &0)?;
                pairs.insert(&key, &[0; 2])?;
            }
        }
        for i in ENTRIES..ENTRIES + 20 {
            tree.insert(&i, &[])?;
            tree.remove(&i)?;
            map.insert(&i, &[i; 2])?;
            map.remove(&i)?;
        }
        for _ in 0..10 {
            queue.pop()?;
        }
    }
    Ok(())
}

#[test]
fn a_damaged_element_of_a_vector_is_a_finding() {
    let bytes = &POOLS[0].bytes;
    let places = bytes.windows(20).enumerate();
    let places = places.filter(|(_, there)| *there == element(99));
    // What was written to the pool for them before is damaged as well, and is nothing to be found.
    let found = places.filter(|(at, _)| {
        let mut damaged = bytes.clone();
        damaged[at + 7] ^= 4;
        let found = check(Arc::new(Simulated::from_bytes(&damaged, Granule::Line)));
        // In one of the two it is the element before.
        found.iter().any(|it| it.to_string().contains("element 9"))
    });
    assert_eq!(found.count(), 2);
}

thread_local! {
    /// Whether all that is read must be there.
    static WHOLE: Cell<bool> = const { Cell::new(false) };
}

/// An error: that something is damaged, where that may be.
fn expect_damage(error: &Error, what: &str) {
    assert!(!WHOLE.get(), "{what}: {error}");
    assert_eq!(error.cause(), Cause::Damaged, "{what}: {error}");
}

/// What was read: right, or an error; anything else is what must not be.
fn same<T: PartialEq + std::fmt::Debug>(found: Result<T>, expected: T, what: &str) {
    match found {
        Ok(found) => assert!(found == expected, "{what}: {found:?} for {expected:?}"),
        Err(error) => expect_damage(&error, what),
    }
}

/// All that an iterator returns is right up to the first error.
fn same_in_order<T: PartialEq + std::fmt::Debug>(
    found: impl Iterator<Item = Result<T>>,
    expected: impl IntoIterator<Item = T>,
    what: &str,
) {
    let mut expected = expected.into_iter();
    for found in found {
        match found {
            Ok(found) => assert_eq!(Some(found), expected.next(), "{what}"),
            Err(error) => return expect_damage(&error, what),
        }
    }
    assert_eq!(expected.next(), None, "{what} ends too early");
}

/// Opens a container; `None` if it is known to be damaged.
fn opened<C>(container: Result<C>, what: &str) -> Option<C> {
    container
        .inspect_err(|error| expect_damage(error, what))
        .ok()
}

/// Reads everything of a pool in all ways.
fn read(heap: &Heap<Memory>) {
    for (number, of) in ["a", "b"].into_iter().enumerate() {
        let add = number as u64;
        let what = format!("tree {of}");
        if let Some(tree) = opened(BTreeMap::<u64, [u8], Memory>::open(heap, &what), &what) {
            for i in 0..ENTRIES {
                same(tree.get(&i), Some(value(i + add)), &what);
            }
            same(tree.get(&(ENTRIES + 5)), None, &what);
            same(tree.len(), ENTRIES, &what);
            same(tree.first(), Some((0, value(add))), &what);
            let last = ENTRIES - 1;
            same(tree.last(), Some((last, value(last + add))), &what);
            let all = |i| (i, value(i + add));
            same_in_order(tree.iter(), (0..ENTRIES).map(all), &what);
            same_in_order(tree.iter().rev(), (0..ENTRIES).rev().map(all), &what);
        }
        let what = format!("names {of}");
        if let Some(names) = opened(BTreeMap::<str, str, Memory>::open(heap, &what), &what) {
            let twin: Twin<String, String> =
                (0..ENTRIES).map(|i| (name(i), name(i + 1 + add))).collect();
            for (key, value) in &twin {
                same(names.get(key), Some(value.clone()), &what);
            }
            same(names.contains("none"), false, &what);
            same_in_order(names.iter(), twin, &what);
        }
        let what = format!("map {of}");
        if let Some(map) = opened(HashMap::<u64, [u64; 2], Memory>::open(heap, &what), &what) {
            for i in 0..ENTRIES {
                same(map.get(&i), Some([i, i + add]), &what);
            }
            same(map.get(&(ENTRIES + 5)), None, &what);
            same(map.len(), ENTRIES, &what);
            let all: Result<Vec<_>> = map.iter().collect();
            if let Ok(mut all) = all {
                all.sort_unstable();
                let twin: Vec<_> = (0..ENTRIES).map(|i| (i, [i, i + add])).collect();
                assert_eq!(all, twin, "{what}");
            }
        }
        let what = format!("bytes {of}");
        if let Some(bytes) = opened(HashMap::<[u8], [u8], Memory>::open(heap, &what), &what) {
            for i in 0..ENTRIES {
                let key = name(i);
                same(bytes.get(key.as_bytes()), Some(value(i + add)), &what);
            }
            let twin: Twin<_, _> = (0..ENTRIES)
                .map(|i| (name(i).into_bytes(), value(i + add)))
                .collect();
            for (key, value) in bytes.iter().filter_map(Result::ok) {
                assert_eq!(twin.get(&key), Some(&value), "{what}");
            }
        }
        let what = format!("queue {of}");
        if let Some(queue) = opened(Queue::<[u8], Memory>::open(heap, &what), &what) {
            same(queue.len(), ENTRIES - 10, &what);
            same(queue.front(), Some(value(10 + add)), &what);
            let all = (10..ENTRIES).map(|i| value(i + add));
            same_in_order(queue.iter(), all, &what);
        }
        let what = format!("numbers {of}");
        if let Some(numbers) = opened(Vector::<u64, Memory>::open(heap, &what), &what) {
            same(numbers.len(), ENTRIES, &what);
            for i in 0..ENTRIES {
                same(numbers.get(i), Some(i + add), &what);
            }
        }
        let what = format!("elements {of}");
        if let Some(elements) = opened(Vector::<[u8; 20], Memory>::open(heap, &what), &what) {
            let all = (0..ENTRIES).map(|i| element(i + add));
            same_in_order(elements.iter(), all, &what);
        }
    }
}

/// Numbers that look random (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ word >> 31) % end as u64) as usize
    }
}

/// Damages one place: mostly a bit, where there is something to damage.
pub fn damage(bytes: &mut [u8], places: &Places, random: &mut Random) -> String {
    let Places { filled, objects } = places;
    let at = match random.below(8) {
        0 => random.below(bytes.len() / 8) * 8,
        // Within the first lines of an object, where a long value is no likelier than a node.
        1..5 => {
            let (at, len) = objects[random.below(objects.len())];
            at + random.below(len.min(192) / 8) * 8
        }
        _ => filled[random.below(filled.len())],
    };
    match random.below(10) {
        9 => {
            // A line that was written to another place.
            let from = filled[random.below(filled.len())] & !63;
            bytes.copy_within(from..from + 64, at & !63);
            format!("the line at {} is that from {from}", at & !63)
        }
        0 => {
            bytes[at..at + 8].fill(0);
            format!("the word at {at} is 0")
        }
        1 => {
            // A half of it was not written, or is that of another word.
            let from = filled[random.below(filled.len())];
            let half = 4 * random.below(2);
            bytes.copy_within(from..from + 4, at + half);
            format!("half of the word at {at} is from {from}")
        }
        2 => {
            let from = filled[random.below(filled.len())];
            bytes.copy_within(from..from + 8, at);
            format!("the word at {at} is that from {from}")
        }
        3 => {
            // A slot that is the same as its neighbour would point to an entry whose checks are
            // right.
            let from = at.saturating_sub(8);
            bytes.copy_within(from..from + 8, at);
            format!("the word at {at} is the one before")
        }
        _ => {
            let bit = random.below(64);
            bytes[at + bit / 8] ^= 1 << (bit % 8);
            format!("bit {bit} of the word at {at}")
        }
    }
}

fn damaged(seed: u64) -> (Vec<u8>, String) {
    let pool = &POOLS[seed as usize % POOLS.len()];
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut bytes = pool.bytes.clone();
    let what: Vec<String> = (0..1 + random.below(3))
        .map(|_| damage(&mut bytes, &pool.places, &mut random))
        .collect();
    (bytes, what.join(", "))
}

#[test]
fn what_is_read_of_a_damaged_pool_is_what_was_written() {
    let pools = std::env::var("TERRACE_DAMAGED").ok();
    let pools = pools.map_or(300, |pools| pools.parse().unwrap());
    let mut refused = 0;
    for seed in 0..pools {
        let (bytes, what) = damaged(seed);
        let say = |error: Error| assert!(!error.to_string().is_empty());
        let look = || match open(Arc::new(Simulated::from_bytes(&bytes, Granule::Line))) {
            Ok(heap) => {
                read(&heap);
                false
            }
            Err(error) => {
                say(error);
                true
            }
        };
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(look));
        refused += u64::from(looked.unwrap_or_else(|_| panic!("pool {seed}: {what}")));
    }
    println!("{pools} damaged pools, {refused} of them not opened");
}

/// Compaction copies what it has checked, and makes no damaged byte valid.
#[test]
fn what_compaction_copies_of_a_damaged_pool_is_what_was_written() {
    let (mut whole, mut found) = (0, 0);
    for seed in 0..200 {
        let pool = &POOLS[seed as usize % 2 * 2];
        let mut random = Random(seed);
        let mut bytes = pool.bytes.clone();
        let (at, len) = pool.places.objects[random.below(pool.places.objects.len())];
        let bit = random.below(len * 8);
        bytes[at + bit / 8] ^= 1 << (bit % 8);
        let Ok(heap) = open(Arc::new(Simulated::from_bytes(&bytes, Granule::Line))) else {
            continue;
        };
        match heap.compact() {
            Ok(_) => whole += 1,
            Err(error) => {
                found += 1;
                assert_eq!(error.cause(), Cause::Damaged, "pool {seed}: {error}");
            }
        }
        let read = || read(&heap);
        let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
        read.unwrap_or_else(|_| panic!("pool {seed}: bit {bit} of the object at {at}"));
    }
    println!("{whole} pools compacted, damage found in {found}");
    assert!(found > 0);
}

/// The test would find nothing if nothing could be read.
#[test]
fn a_pool_that_is_not_damaged_is_read_whole() {
    WHOLE.set(true);
    for pool in &*POOLS {
        let heap = pool.open();
        read(&heap);
        read_more(&heap);
    }
}

fn read_more(heap: &TestHeap) {
    let tree = BTreeMap::<u64, [u8], Memory>::open(heap, "tree a").unwrap();
    // Values that are not wanted, and lie apart.
    assert_eq!(tree.contains(&7), Ok(true));
    let bytes = HashMap::<[u8], [u8], Memory>::open(heap, "bytes a").unwrap();
    assert_eq!(bytes.contains(name(7).as_bytes()), Ok(true));
    assert_eq!(bytes.clear(), Ok(()));
    let queue = Queue::<[u8], Memory>::open(heap, "queue b").unwrap();
    assert_eq!((queue.clear(), queue.len()), (Ok(()), Ok(0)));
    assert_eq!(
        tree.iter().collect::<Result<Vec<_>>>().unwrap().len() as u64,
        ENTRIES
    );
}
