//! Threads that work on one heap at the same time, in a file that is really there.

use std::collections::HashMap as Twin;
use std::thread;

use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::{Error, Heap, Mapped, Mode, Place, Ptr, use_lane};

#[path = "common/mod.rs"]
mod common;
use common::{open, options, used};

/// More threads than lanes, so that some share one.
const THREADS: u64 = 5;

fn heap(folder: &tempfile::TempDir) -> Heap {
    let path = folder.path().join("pool");
    Heap::create_with(path, 8 << 20, Mode::Lines, &options(3)).unwrap()
}

/// What is used is what is reached.
fn check(heap: &Heap, mut reached: Vec<u64>) {
    reached.sort_unstable();
    assert_eq!(reached, used(heap));
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        let factor = 6364136223846793005;
        self.0 = self
            .0
            .wrapping_mul(factor)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// Each thread has keys of its own, which lie among those of the others.
#[test]
fn a_map_of_many_threads_holds_what_each_has_put() {
    for capacity in [1, 100, 1000] {
        map_of_many_threads(capacity);
    }
}

/// Does work in each thread, and puts together what they answer.
fn all_threads(work: impl Fn(u64) -> Twin<u64, u64> + Sync) -> Twin<u64, u64> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|i| scope.spawn(move || work(i))).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}

fn map_of_many_threads(capacity: u64) {
    let folder = tempfile::tempdir().unwrap();
    let heap = heap(&folder);
    let map = HashMap::<u64, u64>::open_with_capacity(&heap, "map", capacity).unwrap();
    let work = |thread: u64| {
        let (mut random, mut twin) = (Random(thread), Twin::new());
        for value in 0..4000 {
            let key = random.below(500) * THREADS + thread;
            let (old, expected) = match random.below(3) {
                0 => (map.remove(&key), twin.remove(&key)),
                1 => (map.get(&key), twin.get(&key).copied()),
                _ => (map.insert(&key, &value), twin.insert(key, value)),
            };
            assert_eq!(old.unwrap(), expected);
        }
        twin
    };
    let twin = all_threads(work);
    assert_eq!(map.iter().collect::<Result<Twin<_, _>, _>>().unwrap(), twin);
    check(&heap, map.objects().unwrap());
    drop((map, heap));
    let heap = Heap::open(folder.path().join("pool")).unwrap();
    let map = HashMap::<u64, u64>::open(&heap, "map").unwrap();
    assert_eq!(map.iter().collect::<Result<Twin<_, _>, _>>().unwrap(), twin);
    check(&heap, map.objects().unwrap());
}

/// All threads change the same words, under a lock: lanes settle each other's operations.
#[test]
fn threads_that_take_turns_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let heap = heap(&folder);
    let place: Place<[u64; 4]> = heap.root("object", 0).unwrap();
    let count: Ptr<u64> = heap.root::<u8>("count", 0).unwrap().cast();
    let turn = std::sync::Mutex::new(());
    let work = |thread: u64| {
        use_lane(thread as usize);
        for i in 0..400 {
            let _turn = turn.lock().unwrap();
            let seen = heap.read(count).unwrap();
            let all = |tx: &terrace_heap::Transaction<_>| {
                let old = tx.read(place)?;
                if !old.is_null() {
                    assert_eq!(tx.read(old)?, [seen; 4]);
                    tx.free(old)?;
                }
                tx.write(place, &tx.alloc(&[seen + 1; 4])?)?;
                tx.set(count, seen + 1)
            };
            match (i + thread) % 3 {
                0 | 1 => heap.transaction(all).unwrap(),
                _ => {
                    heap.free(place).unwrap();
                    heap.publish(place, &[seen + 1; 4]).unwrap();
                    heap.set(count, seen + 1).unwrap();
                }
            }
        }
    };
    thread::scope(|scope| (0..THREADS).for_each(|i| drop(scope.spawn(move || work(i)))));
    assert_eq!(heap.read(count).unwrap(), THREADS * 400);
    check(&heap, vec![heap.read(place).unwrap().offset()]);
}

#[test]
fn a_nested_failure_dooms_all_and_a_panic_aborts() {
    let folder = tempfile::tempdir().unwrap();
    let heap = heap(&folder);
    let word: Ptr<u64> = heap.root::<u8>("word", 0).unwrap().cast();
    let swallowed = heap.transaction(|tx| {
        tx.set(word, 1)?;
        let inner = heap.transaction(|tx| {
            assert_eq!(tx.read(word)?, 1);
            tx.set(word, 2)?;
            Err::<(), _>(Error::usage("no"))
        });
        assert!(inner.is_err());
        Ok::<_, Error>(())
    });
    assert!(swallowed.is_err());
    assert_eq!(heap.read(word), Ok(0));
    let panics = std::panic::AssertUnwindSafe(|| {
        heap.transaction(|tx| {
            tx.set(word, 3)?;
            tx.alloc(&[1u64; 4])?;
            if tx.read(word)? == 3 {
                panic!("on purpose");
            }
            Ok::<_, Error>(())
        })
    });
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(heap.read(word), Ok(0));
    heap.transaction(|tx| tx.set(word, 0)).unwrap();
    check(&heap, Vec::new());
}

/// Nothing is flushed for capacity, and what a crash leaves of it is room.
#[test]
fn capacity_is_another_room_in_the_same_pool() {
    let folder = tempfile::tempdir().unwrap();
    let heap = heap(&folder);
    let place: Place<[u64; 4]> = heap.root("object", 0).unwrap();
    heap.publish(place, &[7; 4]).unwrap();
    let (free, before) = (heap.usage().unwrap().free, heap.counts());
    let mut all = Vec::new();
    for bytes in (1..40_000).step_by(397) {
        let mut memory = heap.capacity_alloc(bytes).unwrap();
        // SAFETY: it is ours alone.
        let memory = unsafe { memory.as_mut() };
        assert!(memory.len() >= bytes && memory.as_ptr().addr().is_multiple_of(16));
        memory.fill(bytes as u8);
        all.push((bytes, memory));
    }
    let flushed = (heap.counts() - before).lines;
    assert!(flushed < 2 * (8 << 20) / 4096, "{flushed}");
    assert_eq!(heap.read(heap.read(place).unwrap()), Ok([7; 4]));
    check(&heap, vec![heap.read(place).unwrap().offset()]);
    for (bytes, memory) in all {
        assert!(memory.iter().all(|&byte| byte == bytes as u8));
        let memory = std::ptr::NonNull::from(memory).cast();
        // SAFETY: nothing uses it any more; the second call is refused.
        unsafe {
            heap.capacity_free(memory).unwrap();
            assert!(heap.capacity_free(memory).is_err());
        }
    }
    // What is in caches is not given back.
    assert!(heap.usage().unwrap().free > free / 2);
    drop(heap);
    let pool = Mapped::open(&folder.path().join("pool"), Mode::Lines).unwrap();
    let heap = open(pool).unwrap();
    assert!(heap.usage().unwrap().free >= free);
}

/// Objects come and go until the pool is full of records; then these make room.
#[test]
fn a_full_pool_makes_room_by_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let heap = Heap::create_with(&path, 1 << 20, Mode::Lines, &options(3)).unwrap();
    let map = HashMap::<u64, [u64; 20]>::open_with_capacity(&heap, "small", 3000).unwrap();
    let mut count = 0;
    let full = loop {
        match map.insert(&count, &[count; 20]) {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(full.cause(), terrace_heap::Cause::Full, "{full}");
    for key in (0..count).filter(|key| key % 10 != 0) {
        map.remove(&key).unwrap().unwrap();
    }
    assert!(heap.compact().unwrap() > 0);
    for key in 0..count {
        let expected = (key % 10 == 0).then_some([key; 20]);
        assert_eq!(map.get(&key).unwrap(), expected);
    }
    check(&heap, map.objects().unwrap());
    for key in (0..count / 2).filter(|key| key % 10 != 0) {
        map.insert(&key, &[key; 20]).unwrap();
    }
    check(&heap, map.objects().unwrap());
    drop((map, heap));
    let heap = Heap::open(&path).unwrap();
    let map = HashMap::<u64, [u64; 20]>::open(&heap, "small").unwrap();
    check(&heap, map.objects().unwrap());
}

/// A tree, a queue and a vector, each used by all threads; each has keys of its own.
#[test]
fn containers_of_many_threads_hold_what_each_has_put() {
    let folder = tempfile::tempdir().unwrap();
    let heap = heap(&folder);
    let tree = BTreeMap::<u64, u64>::open(&heap, "tree").unwrap();
    let queue = Queue::<[u64; 2]>::open(&heap, "queue").unwrap();
    let vector = Vector::<[u64; 2]>::open(&heap, "vector").unwrap();
    let work = |thread: u64| {
        let (mut random, mut twin) = (Random(thread), Twin::new());
        for value in 0..1500 {
            let key = random.below(200) * THREADS + thread;
            let (old, expected) = match random.below(3) {
                0 => (tree.remove(&key), twin.remove(&key)),
                1 => (tree.get(&key), twin.get(&key).copied()),
                _ => (tree.insert(&key, &value), twin.insert(key, value)),
            };
            assert_eq!(old.unwrap(), expected);
            match value % 3 {
                0 => assert!(queue.pop().is_ok()),
                _ => queue.push(&[thread, value]).unwrap(),
            }
            vector.push(&[thread, value]).unwrap();
        }
        twin
    };
    let twin = all_threads(work);
    let found: Twin<u64, u64> = tree.iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(
        (found, tree.len().unwrap()),
        (twin.clone(), twin.len() as u64)
    );
    // Of each thread everything, in its order.
    let mut next = [0; THREADS as usize];
    for element in vector.iter() {
        let [thread, value] = element.unwrap();
        assert_eq!(value, next[thread as usize]);
        next[thread as usize] += 1;
    }
    assert_eq!(next, [1500; THREADS as usize]);
    let mut last = [None; THREADS as usize];
    for element in queue.iter() {
        let [thread, value] = element.unwrap();
        assert!(last[thread as usize] < Some(value));
        last[thread as usize] = Some(value);
    }
    let objects = [tree.objects(), queue.objects(), vector.objects()];
    check(&heap, objects.map(Result::unwrap).concat());
}
