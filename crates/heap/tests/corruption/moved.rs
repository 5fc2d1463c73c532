//! Objects of damaged pools with checksums that compaction moves: what is whole is whole
//! afterwards, and what is damaged stays an error.

use std::sync::Arc;

use terrace_heap::check::check;
use terrace_heap::containers::{BTreeMap, HashMap, Queue};
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Cause, Heap, Medium, Ptr, Result, use_lane};

use crate::common::{Memory, TestHeap, create, open, options, used};

const CHUNK: u64 = 4 << 10;
/// Long values of each container.
const VALUES: u64 = 12;
/// Bytes of a value of two parts: the first one fills 15 chunks, and stays; the second one, and the
/// list of both, share chunks with what the test removes.
const LONG: usize = 15 * CHUNK as usize + 40;
/// Bytes of the slot of a list, and of a second part.
const LIST: u64 = 32;
const PART: u64 = 64;
/// Bytes of a segment of a queue.
const SEGMENT: u64 = 4096;

/// The containers with long values.
struct Long<M: Medium> {
    tree: BTreeMap<u64, [u8], M>,
    map: HashMap<u64, [u8], M>,
    queue: Queue<[u8], M>,
}

fn value(key: u64) -> Vec<u8> {
    (0..LONG as u64).map(|i| (i * 31 + key * 7) as u8).collect()
}

impl<M: Medium> Long<M> {
    fn open(heap: &Heap<M>) -> Result<Self> {
        Ok(Self {
            tree: BTreeMap::open(heap, "tree")?,
            map: HashMap::open(heap, "map")?,
            queue: Queue::open(heap, "queue")?,
        })
    }

    /// Fills them, and removes what was made between their values.
    fn fill(&self, heap: &Heap<M>) -> Result<()> {
        let mut between = Vec::new();
        for key in 0..VALUES {
            self.tree.insert(&key, &value(key))?;
            between.extend(make(heap, &[LIST, PART], 60)?);
            self.map.insert(&key, &value(key))?;
            between.extend(make(heap, &[LIST, PART], 60)?);
            self.queue.push(&value(key))?;
            between.extend(make(heap, &[LIST, PART], 60)?);
        }
        free(heap, &between)
    }

    /// The offsets of the objects of each container with slots of `bytes` bytes.
    fn objects(&self, heap: &Heap<M>, bytes: u64) -> Result<[Vec<u64>; 3]> {
        let all = heap.objects()?;
        let of = |objects: Vec<u64>| {
            let small = all.iter().filter(|object| object.bytes == bytes);
            let own = small.filter(|object| objects.contains(&object.offset));
            own.map(|object| object.offset).collect()
        };
        Ok([
            of(self.tree.objects()?),
            of(self.map.objects()?),
            of(self.queue.objects()?),
        ])
    }

    /// Reads all values: each is what was written, or an error. Returns how many are errors.
    fn read(&self) -> [u64; 3] {
        let damaged = |read: Result<Option<Vec<u8>>>, key| match read {
            Ok(read) => {
                assert!(
                    read == Some(value(key)),
                    "the value of {key} is another one"
                );
                0
            }
            Err(error) => {
                assert_eq!(error.cause(), Cause::Damaged, "{error}");
                1
            }
        };
        let tree = (0..VALUES).map(|key| damaged(self.tree.get(&key), key));
        let map = (0..VALUES).map(|key| damaged(self.map.get(&key), key));
        let (mut queue, mut ended) = (self.queue.iter(), 0);
        for key in 0..VALUES {
            ended += match queue.next().transpose() {
                // Behind a damaged element its iterator ends.
                Ok(None) if ended > 0 => 1,
                read => damaged(read, key),
            };
        }
        [tree.sum(), map.sum(), ended]
    }
}

/// Makes `count` objects of each of some sizes; returns their offsets.
fn make<M: Medium>(heap: &Heap<M>, sizes: &[u64], count: usize) -> Result<Vec<u64>> {
    heap.transaction(|tx| {
        let all = sizes.repeat(count).into_iter();
        all.map(|bytes| tx.alloc_bytes(&vec![1; bytes as usize]))
            .collect()
    })
}

fn free<M: Medium>(heap: &Heap<M>, objects: &[u64]) -> Result<()> {
    objects.chunks(100).try_for_each(|some| {
        heap.transaction(|tx| some.iter().try_for_each(|&at| tx.free(Ptr::<u8>::at(at))))
    })
}

/// A pool in which the lists and second parts of long values are far apart.
fn fragmented() -> Memory {
    use_lane(0);
    let memory = Arc::new(Simulated::new(8 << 20, Granule::Line));
    let heap = create(
        Arc::clone(&memory),
        &options(2).checksums(true).chunk_bytes(CHUNK),
    );
    let long = Long::open(&heap).unwrap();
    long.fill(&heap).unwrap();
    drop(long);
    heap.close().unwrap();
    memory
}

#[test]
fn lists_and_parts_of_values_that_have_moved_are_whole() {
    let memory = fragmented();
    let heap = open(Arc::clone(&memory)).unwrap();
    let long = Long::open(&heap).unwrap();
    let objects = |bytes| long.objects(&heap, bytes).unwrap();
    let before = [objects(LIST), objects(PART)];
    heap.compact().unwrap();
    let after = [objects(LIST), objects(PART)];
    for (before, after) in before.iter().flatten().zip(after.iter().flatten()) {
        let moved = before.iter().filter(|object| !after.contains(object));
        assert!(moved.count() > 3, "{before:?} {after:?}");
    }
    assert_eq!(long.read(), [0; 3]);
    drop(long);
    heap.close().unwrap();
    assert_eq!(check(Arc::clone(&memory)), []);
    let heap = open(memory).unwrap();
    assert_eq!(Long::open(&heap).unwrap().read(), [0; 3]);
}

/// A part that is damaged is never copied with a check that makes it valid, and the other
/// containers are compacted nevertheless.
#[test]
fn a_damaged_part_stays_damaged_and_others_move() {
    let memory = fragmented();
    let bytes = memory.bytes();
    let heap = open(memory).unwrap();
    let long = Long::open(&heap).unwrap();
    let (parts, lists) = (
        long.objects(&heap, PART).unwrap(),
        long.objects(&heap, LIST).unwrap(),
    );
    let names = ["tree", "map", "queue"];
    for (of, name) in names.into_iter().enumerate() {
        let part = parts[of][VALUES as usize / 2];
        let mut damaged = bytes.clone();
        damaged[part as usize + 3] ^= 16;
        let heap = open(Arc::new(Simulated::from_bytes(&damaged, Granule::Line))).unwrap();
        let done = heap.compact_some(u64::MAX).unwrap();
        let skipped: Vec<&str> = done.skipped.iter().map(|skipped| &*skipped.name).collect();
        assert_eq!(skipped, [name]);
        assert_eq!(done.skipped[0].error.cause(), Cause::Damaged);
        let said = done.expect_all().unwrap_err();
        assert!(
            said.to_string()
                .contains(&format!("the container {name:?}")),
            "{said}"
        );
        let left = used(&heap);
        for (other, lists) in lists.iter().enumerate().filter(|(other, _)| *other != of) {
            let moved = lists.iter().filter(|list| !left.contains(list));
            assert!(moved.count() > 3, "{name} {}", names[other]);
        }
        let mut expected = [0; 3];
        expected[of] = 1;
        let found = Long::open(&heap).unwrap().read();
        assert!(
            found[of] > 0,
            "the damaged part of the {name} was made valid"
        );
        expected[of] = found[of];
        assert_eq!(found, expected);
        // It is said again, and is again an error of what does all at once.
        assert_eq!(heap.compact().unwrap_err().cause(), Cause::Damaged);
    }
}

/// Elements before and behind the front, in one segment and in several, which move as the front
/// does.
#[test]
fn the_head_of_a_queue_that_has_moved_is_whole() {
    type Elements = Queue<[u8], Memory>;
    let element = |number: u64| vec![number as u8; 200 + number as usize];
    for (pushed, popped) in [(6, 0), (6, 2), (6, 6), (40, 3), (40, 38)] {
        use_lane(0);
        let memory = Arc::new(Simulated::new(8 << 20, Granule::Line));
        let options = options(2).checksums(true).chunk_bytes(64 << 10);
        let heap = create(Arc::clone(&memory), &options);
        let queue = |heap: &TestHeap, name: &str| Elements::open(heap, name).unwrap();
        let names = ["one", "two", "three"];
        // So that each queue is in chunks of its own.
        let mut between = Vec::new();
        for name in names {
            let queue = queue(&heap, name);
            for number in 0..pushed {
                queue.push(&element(number)).unwrap();
            }
            for number in 0..popped {
                assert_eq!(queue.pop().unwrap(), Some(element(number)));
            }
            between.extend(make(&heap, &[SEGMENT], 20).unwrap());
        }
        free(&heap, &between).unwrap();
        let objects = || names.map(|name| queue(&heap, name).objects().unwrap());
        let before = objects();
        heap.compact().unwrap();
        assert_ne!(before, objects(), "{pushed} {popped}");
        let expect = |heap: &TestHeap, name: &str| {
            let queue = queue(heap, name);
            assert_eq!(queue.len(), Ok(pushed - popped));
            let front = (popped < pushed).then(|| element(popped));
            assert_eq!(queue.front().unwrap(), front);
            let all: Vec<_> = queue.iter().collect::<Result<_>>().unwrap();
            assert_eq!(all, (popped..pushed).map(element).collect::<Vec<_>>());
        };
        names.iter().for_each(|name| expect(&heap, name));
        heap.close().unwrap();
        assert_eq!(check(Arc::clone(&memory)), []);
        let heap = open(memory).unwrap();
        for name in names {
            expect(&heap, name);
            // Its ends are used again.
            let queue = queue(&heap, name);
            queue.push(&element(pushed)).unwrap();
            for number in popped..=pushed {
                assert_eq!(queue.pop().unwrap(), Some(element(number)));
            }
            assert_eq!(queue.pop(), Ok(None));
        }
    }
}
