//! Golden counts: how many lines are flushed and how many fences are waited for by each call.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Counts, Heap, Mode, Options, Place, Ptr, use_lane};

#[path = "common/mod.rs"]
mod common;
use common::{TestHeap, create, options};

type Bytes = [u64; 8];

fn heap() -> TestHeap {
    let pool = Arc::new(Simulated::new(1 << 20, Granule::Line));
    create(pool, &options(2).chunk_bytes(1 << 14))
}

/// Lines and fences of some work. What an operation has changed is flushed by the one after it: so
/// the work is done between two others: each is a line for its intent and one for a word.
fn cost(heap: &TestHeap, work: impl FnOnce()) -> (u64, u64) {
    let word: Ptr<u64> = heap.root::<u8>("other", 0).unwrap().cast();
    let other = || heap.set(word, heap.read(word).unwrap() + 1).unwrap();
    other();
    let (lines, fences) = cost_alone(heap, || {
        work();
        other();
    });
    (lines - 2, fences - 1)
}

/// A call that itself waits for the changes of earlier operations.
fn cost_alone(heap: &TestHeap, work: impl FnOnce()) -> (u64, u64) {
    let before = heap.counts();
    work();
    let Counts { lines, fences, .. } = heap.counts() - before;
    (lines, fences)
}

#[test]
fn a_new_object_is_its_own_lines_a_record_and_a_pointer() {
    let heap = heap();
    let places: [Place<Bytes>; 3] = ["a", "b", "c"].map(|name| heap.root(name, 0).unwrap());
    // The first takes chunks.
    heap.publish(places[0], &[1; 8]).unwrap();
    let publish = || assert!(heap.publish(places[1], &[1; 8]).is_ok());
    assert_eq!(cost(&heap, publish), (1 + 2, 1));
    assert_eq!(cost(&heap, || heap.free(places[0]).unwrap()), (1 + 2, 1));
}

/// Where it moves: its own lines, a record, an intent, the pointer, and the old record.
#[test]
fn objects_that_become_larger() {
    let heap = heap();
    let place = heap.root::<u8>("a", 0).unwrap();
    heap.publish_bytes(place, &[1; 100]).unwrap();
    let resize = |bytes| assert!(heap.resize(place, bytes).is_ok());
    // Each class takes a chunk with its first object.
    for bytes in [256, 512, 112] {
        resize(bytes);
    }
    assert_eq!(cost(&heap, || resize(60)), (0, 0));
    assert_eq!(cost(&heap, || resize(256)), (4 + 4, 1));
    assert_eq!(cost(&heap, || resize(512)), (8 + 4, 1));
    assert_eq!(cost(&heap, || resize(300)), (0, 0));
    // The second slot of a chunk for 112 bytes is on three lines.
    assert_eq!(cost(&heap, || resize(100)), (3 + 4, 1));
    heap.publish_zeros(heap.root::<u8>("b", 0).unwrap(), 128)
        .unwrap();
    let zeros = heap.root::<u8>("c", 0).unwrap();
    let publish = || assert!(heap.publish_zeros(zeros, 128).is_ok());
    assert_eq!(cost(&heap, publish), (2 + 2, 2));
    for name in ["d", "e"] {
        heap.publish_zeros(heap.root::<u8>(name, 0).unwrap(), 128)
            .unwrap();
    }
    let direct = |at| assert_eq!(heap.persist(at, 8), Ok(()));
    // The last two operations are settled: their objects and pointers, and that they are.
    let last = heap.root::<u8>("e", 0).unwrap();
    let at = heap.read(last).unwrap().offset();
    assert_eq!(cost_alone(&heap, || direct(at)), (1 + 2 * (2 + 1) + 1, 3));
    assert_eq!(cost_alone(&heap, || direct(at)), (1, 1));
}

#[test]
fn roots_that_go() {
    let heap = heap();
    let place = heap.root::<u64>("a", 0).unwrap();
    let remove = |name| assert_eq!(heap.remove_root(name), Ok(true));
    assert_eq!(cost(&heap, || remove("a")), (1, 1));
    let make = || assert_eq!(heap.root::<u64>("b", 0), Ok(place));
    assert_eq!(cost(&heap, make), (2, 1));
    heap.publish(place, &7).unwrap();
    heap.remove_root("b").unwrap_err();
    heap.free(place).unwrap();
    // The last operations are settled: the pointer, the record that is none, the object's.
    assert_eq!(cost_alone(&heap, || remove("b")), (4 + 1 + 1, 3));
    assert_eq!(heap.remove_root("b"), Ok(false));
}

#[test]
fn words_and_transactions() {
    let heap = heap();
    let word = |name| -> Ptr<u64> { heap.root::<u8>(name, 0).unwrap().cast() };
    let words = ["a", "b", "c", "d"].map(word);
    assert_eq!(cost(&heap, || heap.set(words[0], 1).unwrap()), (2, 1));
    let value = Cell::new(1);
    let set = |count: usize| {
        // What does not change is not logged.
        value.set(value.get() + 1);
        heap.transaction(|tx| {
            words[..count]
                .iter()
                .try_for_each(|&at| tx.set(at, value.get()))
        })
        .unwrap();
    };
    assert_eq!(cost(&heap, || set(3)), (1 + 3, 1));
    // The first one with a log takes its chunk.
    set(4);
    set(3);
    // An intent, a line of the log, four words.
    assert_eq!(cost(&heap, || set(4)), (1 + 1 + 4, 1));
    assert_eq!(cost(&heap, || set(0)), (0, 0));
}

/// Words in one line are flushed together, in transactions and outside.
#[test]
fn words_side_by_side() {
    let heap = heap();
    let object = heap.publish(heap.root("a", 0).unwrap(), &[0u64; 8]);
    let first = object.unwrap().offset();
    let set = |count: u64| {
        heap.transaction(|tx| {
            let mut words = (0..count).map(|i| Ptr::at(first + i * 8));
            words.try_for_each(|at| tx.set(at, tx.read(at)? + 1))
        })
        .unwrap();
    };
    // The first one with a log takes its chunk.
    set(8);
    assert_eq!(cost(&heap, || set(3)), (1 + 1, 1));
    assert_eq!(cost(&heap, || set(8)), (1 + 2 + 1, 1));
}

#[test]
fn puts_and_deletes_of_64_bytes() {
    let heap = heap();
    let map = HashMap::<Bytes, Bytes, _>::open_with_capacity(&heap, "map", 700).unwrap();
    map.insert(&[1; 8], &[1; 8]).unwrap();
    for key in 2..100 {
        let put = || assert_eq!(map.insert(&[key; 8], &[key; 8]), Ok(None));
        assert_eq!(cost(&heap, put), (5, 1), "{key}");
    }
    for key in 2..100 {
        let get = || assert_eq!(map.get(&[key; 8]), Ok(Some([key; 8])));
        assert_eq!(cost(&heap, get), (0, 0));
        let delete = || assert!(map.remove(&[key; 8]).unwrap().is_some());
        assert_eq!(cost(&heap, delete), (3, 1), "{key}");
    }
}

/// An intent and the line of a word. More words are logged as an object: an entry and a line for
/// its data, and the two lines in which the value is.
#[test]
fn values_that_are_replaced() {
    let heap = heap();
    let small = HashMap::<u64, u64, _>::open(&heap, "small").unwrap();
    let large = HashMap::<Bytes, Bytes, _>::open(&heap, "large").unwrap();
    small.insert(&1, &0).unwrap();
    large.insert(&[1; 8], &[0; 8]).unwrap();
    let replace = |value| assert!(large.insert(&[1; 8], &value).unwrap().is_some());
    // The first one with a log takes its chunk.
    replace([1; 8]);
    for value in 2..20 {
        let word = || assert!(small.insert(&1, &value).unwrap().is_some());
        assert_eq!(cost(&heap, word), (2, 1));
        // Now and then the entry in the log is on two lines.
        let (lines, fences) = cost(&heap, || replace([value; 8]));
        assert!((5..=6).contains(&lines) && fences == 1, "{lines} {fences}");
        assert_eq!(cost(&heap, || replace([value; 8])), (0, 0));
    }
}

/// With 1024 stripes, the last operation of a stripe is nearly always long past, so a put costs the
/// same as alone.
#[test]
fn puts_of_two_lanes() {
    let heap = heap();
    let map = HashMap::<Bytes, Bytes, _>::open_with_capacity(&heap, "map", 14 << 10).unwrap();
    let put = |key: u64| {
        use_lane(key as usize % 2);
        assert_eq!(map.insert(&[key; 8], &[key; 8]), Ok(None));
    };
    (0..4).for_each(put);
    let alone = |&key: &u64| cost_alone(&heap, || put(key)) == (5, 1);
    // Few come right after the other lane's under the same guard, and one takes a chunk.
    let alone = (4..160).filter(alone).count();
    assert!((150..156).contains(&alone), "{alone}");
}

/// Under one stripe each put settles the last two of the other lane: their entries and slots, and
/// that they are.
#[test]
fn puts_of_two_lanes_that_take_turns() {
    let heap = heap();
    let map = HashMap::<Bytes, Bytes, _>::open_with_capacity(&heap, "map", 14).unwrap();
    let put = |key: u64| {
        use_lane(key as usize % 2);
        assert_eq!(map.insert(&[key; 8], &[key; 8]), Ok(None));
    };
    (0..4).for_each(put);
    for key in 4..10 {
        assert_eq!(cost_alone(&heap, || put(key)), (5 + 2 * 4 + 1, 3), "{key}");
    }
}

/// Growth included, from the smallest table on.
#[test]
fn puts_with_growth() {
    let heap = heap();
    let map = HashMap::<u64, u64, _>::open_with_capacity(&heap, "map", 1).unwrap();
    let puts = || {
        for key in 0..2000 {
            map.insert(&key, &key).unwrap();
        }
    };
    let (lines, fences) = cost(&heap, puts);
    assert!(
        lines < 2000 * 6 && fences < 2000 * 3 / 2,
        "{lines} {fences}"
    );
}

/// What is changed, an intent, the element; and one fence.
#[test]
fn elements_of_a_vector() {
    let heap = heap();
    let small = Vector::<u64, _>::open(&heap, "small").unwrap();
    let large = Vector::<Bytes, _>::open(&heap, "large").unwrap();
    // The first four segments of the large ones, the first one of the small ones.
    for value in 0..40 {
        large.push(&[value; 8]).unwrap();
    }
    large.truncate(30).unwrap();
    small.push(&0).unwrap();
    small.push(&0).unwrap();
    for value in 0..28 {
        assert_eq!(cost(&heap, || small.push(&value).unwrap()), (3, 1));
        // With its length an element of 64 bytes is on two lines.
        let (lines, fences) = cost(&heap, || large.push(&[value; 8]).unwrap());
        assert!((3..=4).contains(&lines) && fences == 1, "{lines} {fences}");
        assert_eq!(cost(&heap, || assert!(large.get(3).is_ok())), (0, 0));
    }
    assert_eq!(cost(&heap, || small.set(7, &100).unwrap()), (2, 1));
    assert_eq!(cost(&heap, || assert!(large.pop().is_ok())), (2, 1));
    assert_eq!(cost(&heap, || large.truncate(5).unwrap()), (2, 1));
    let many = |count: u64| {
        heap.transaction(|tx| {
            let vector = tx.open(&large)?;
            (0..count).try_for_each(|i| vector.push(&[i; 8]))
        })
        .unwrap();
    };
    // The first one with a log takes its chunk.
    many(10);
    let (lines, fences) = cost(&heap, || many(10));
    assert!(lines <= 10 * 3 && fences == 1, "{lines} {fences}");
}

#[test]
fn elements_of_a_queue() {
    let heap = heap();
    let small = Queue::<u64, _>::open(&heap, "small").unwrap();
    let large = Queue::<Bytes, _>::open(&heap, "large").unwrap();
    // The first one of each takes its segment.
    for value in 0..4 {
        small.push(&value).unwrap();
        large.push(&[value; 8]).unwrap();
    }
    for value in 0..50 {
        assert_eq!(cost(&heap, || small.push(&value).unwrap()), (3, 1));
        // With its length an element of 64 bytes is on two lines.
        let (lines, fences) = cost(&heap, || large.push(&[value; 8]).unwrap());
        assert!((3..=4).contains(&lines) && fences == 1, "{lines} {fences}");
        assert_eq!(cost(&heap, || assert!(large.front().is_ok())), (0, 0));
        assert_eq!(cost(&heap, || assert!(large.pop().is_ok())), (2, 1));
    }
    let many = || {
        for value in 0..1000 {
            large.push(&[value; 8]).unwrap();
            large.pop().unwrap();
        }
    };
    let (lines, fences) = cost(&heap, many);
    // Of 56 elements one needs a segment, which is made of zeros and freed.
    assert!(
        lines < 1000 * 6 + 1000 * 2 && fences < 2000 * 21 / 20,
        "{lines} {fences}"
    );
}

/// Each element in the log and at its place; and together the log's other lines and the head.
#[test]
fn batches_of_a_queue() {
    let heap = heap();
    let queue = Queue::<Bytes, _>::open(&heap, "queue").unwrap();
    let many = |count: u64| {
        heap.transaction(|tx| {
            let queue = tx.open(&queue)?;
            (0..count).try_for_each(|i| queue.push(&[i; 8]))
        })
        .unwrap();
    };
    // The first ones take a segment, and a chunk for the log.
    many(1);
    many(1);
    for _ in 0..4 {
        let (lines, fences) = cost(&heap, || many(10));
        assert!(lines <= 10 * 3 && fences == 1, "{lines} {fences}");
    }
    let pops = || {
        heap.transaction(|tx| {
            let queue = tx.open(&queue)?;
            (0..40).try_for_each(|_| queue.pop().map(drop))
        })
    };
    assert_eq!(cost(&heap, || pops().unwrap()), (2, 1));
}

/// 64 bytes each: two lines of their own, an intent, and one or two of the leaf's first. Leaves of
/// small ones are split now and then.
#[test]
fn entries_of_a_tree() {
    let heap = heap();
    let large = BTreeMap::<Bytes, Bytes, _>::open(&heap, "large").unwrap();
    // The first takes chunks, the second fills a slot of the leaf that was just made.
    for key in 0..3 {
        large.insert(&[key; 8], &[key; 8]).unwrap();
    }
    // The first one with a log takes its chunk.
    assert!(large.insert(&[1; 8], &[99; 8]).unwrap().is_some());
    for key in 0..30 {
        let put = || assert_eq!(large.insert(&[7; 8], &[key; 8]), Ok(None));
        assert_eq!(cost(&heap, put), (4, 1), "{key}");
        let replace = || assert!(large.insert(&[1; 8], &[key; 8]).unwrap().is_some());
        let (lines, fences) = cost(&heap, replace);
        assert!((4..=5).contains(&lines) && fences == 1, "{lines} {fences}");
        let get = || assert_eq!(large.get(&[7; 8]), Ok(Some([key; 8])));
        assert_eq!(cost(&heap, get), (0, 0));
        let delete = || assert!(large.remove(&[7; 8]).unwrap().is_some());
        assert_eq!(cost(&heap, delete), (2, 1), "{key}");
    }
    let small = BTreeMap::<u64, u64, _>::open(&heap, "small").unwrap();
    let puts = || (0..2000).for_each(|i| assert!(small.insert(&(i * 7919 % 2000), &i).is_ok()));
    let (lines, fences) = cost(&heap, puts);
    assert!(
        lines < 2000 * 6 && fences < 2000 * 11 / 10,
        "{lines} {fences}"
    );
    let many = |value: u64| {
        heap.transaction(|tx| {
            let tree = tx.open(&small)?;
            (0..100).try_for_each(|i| tree.insert(&i, &value).map(drop))
        })
        .unwrap();
    };
    many(7);
    let (lines, fences) = cost(&heap, || many(8));
    assert!(lines < 100 * 2 && fences == 1, "{lines} {fences}");
}

/// Wherever its lines lie: they are in the journal.
#[test]
fn on_a_plain_file_an_operation_is_one_sync() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let heap = Heap::create_with(path, 16 << 20, Mode::Synced, &Options::default()).unwrap();
    let map = HashMap::<u64, Bytes>::open_with_capacity(&heap, "map", 2000).unwrap();
    // Chunks are taken.
    map.insert(&0, &[0; 8]).unwrap();
    let before = heap.counts();
    for key in 1..101 {
        map.insert(&key, &[key; 8]).unwrap();
    }
    let each = heap.counts() - before;
    assert_eq!((each.fences, each.syncs), (100, 100));
    let batch = |keys: Range<u64>| {
        let before = heap.counts();
        heap.transaction(|tx| {
            let map = tx.open(&map)?;
            keys.clone()
                .try_for_each(|key| map.insert(&key, &[key; 8]).map(drop))
        })
        .unwrap();
        heap.counts() - before
    };
    // A log is made.
    batch(101..111);
    let all = batch(111..211);
    assert_eq!((all.fences, all.syncs), (1, 1), "{all:?}");
}
