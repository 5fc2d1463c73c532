//! No other thread gets what a transaction holds before it has ended; its own thread gets it only
//! through the transaction.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::{Cause, Heap, Mapped, Mode, Place, Result, Transaction, check};

#[path = "common/mod.rs"]
mod common;
use common::{options, used};

/// How long another thread is given to do what it must not. A slow one is not found out, but never
/// wrongly.
const PATIENCE: Duration = Duration::from_millis(50);
const POOL: u64 = 4 << 20;

/// Carries out a transaction of two parts, the first of them nested; meanwhile another thread does
/// something, which must happen after both.
fn between(
    heap: &Heap,
    first: impl Fn(&Transaction<Mapped>) -> Result<()>,
    second: impl Fn(&Transaction<Mapped>) -> Result<()>,
    other: impl FnOnce() + Send,
) {
    let (start, started) = mpsc::channel();
    let (done, finished) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            started.recv().unwrap();
            other();
            done.send(()).unwrap();
        });
        let both = heap.transaction(|tx| {
            heap.transaction(&first)?;
            start.send(()).unwrap();
            assert!(finished.recv_timeout(PATIENCE).is_err(), "nobody held it");
            second(tx)
        });
        both.unwrap();
        finished.recv().unwrap();
    });
}

#[test]
fn a_nested_transaction_keeps_its_locks_until_the_outer_commit() {
    let heap = Heap::anonymous(POOL).unwrap();
    let map = HashMap::<u64, u64>::open(&heap, "map").unwrap();
    let tree = BTreeMap::<u64, u64>::open(&heap, "tree").unwrap();
    let queue = Queue::<u64>::open(&heap, "queue").unwrap();
    let vector = Vector::<u64>::open(&heap, "vector").unwrap();

    let first = |tx: &Transaction<_>| tx.open(&map)?.insert(&1, &1).map(drop);
    let second = |tx: &Transaction<_>| tx.open(&map)?.insert(&1, &2).map(drop);
    between(&heap, first, second, || {
        assert_eq!(map.insert(&1, &100), Ok(Some(2)));
    });
    assert_eq!(map.get(&1), Ok(Some(100)));

    let first = |tx: &Transaction<_>| tx.open(&tree)?.insert(&1, &1).map(drop);
    let second = |tx: &Transaction<_>| tx.open(&tree)?.insert(&2, &2).map(drop);
    between(&heap, first, second, || {
        assert_eq!(tree.insert(&3, &100), Ok(None));
    });
    let all: Vec<_> = tree.iter().collect::<Result<_>>().unwrap();
    assert_eq!(all, [(1, 1), (2, 2), (3, 100)]);

    let first = |tx: &Transaction<_>| tx.open(&queue)?.push(&1);
    let second = |tx: &Transaction<_>| tx.open(&queue)?.push(&2);
    between(&heap, first, second, || queue.push(&100).unwrap());
    assert_eq!(
        queue.iter().collect::<Result<Vec<_>>>().unwrap(),
        [1, 2, 100]
    );

    let first = |tx: &Transaction<_>| tx.open(&vector)?.push(&1);
    let second = |tx: &Transaction<_>| tx.open(&vector)?.push(&2);
    between(&heap, first, second, || vector.push(&100).unwrap());
    assert_eq!(
        vector.iter().collect::<Result<Vec<_>>>().unwrap(),
        [1, 2, 100]
    );
}

/// Each thread counts on entries that all share, by one of two handles.
#[test]
fn two_handles_of_one_map_lose_nothing_and_the_pool_opens() {
    const THREADS: u64 = 4;
    const KEYS: u64 = 40;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let heap = Heap::create_with(&path, POOL, Mode::Lines, &options(3)).unwrap();
    let handles =
        [(); 2].map(|()| HashMap::<u64, u64>::open_with_capacity(&heap, "map", 1).unwrap());
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (heap, map) = (&heap, &handles[thread as usize % 2]);
            scope.spawn(move || {
                for i in 0..1000 {
                    let key = i % KEYS;
                    let count = |tx: &Transaction<_>| {
                        let map = tx.open(map)?;
                        let old = map.get(&key)?.unwrap_or(0);
                        map.insert(&key, &(old + 1)).map(drop)
                    };
                    heap.transaction(count).unwrap();
                    map.insert(&(KEYS + i * THREADS + thread), &i).unwrap();
                }
            });
        }
    });
    drop((handles, heap));
    let found = check::check(Mapped::open(&path, Mode::Private).unwrap());
    assert_eq!(found, []);
    let heap = Heap::open(&path).unwrap();
    let map = HashMap::<u64, u64>::open(&heap, "map").unwrap();
    assert_eq!(map.len(), Ok(KEYS + THREADS * 1000));
    assert!((0..KEYS).all(|key| map.get(&key) == Ok(Some(THREADS * 1000 / KEYS))));
    let own = |key: u64| Ok(Some(key / THREADS));
    assert!((0..THREADS * 1000).all(|key| map.get(&(KEYS + key)) == own(key)));
    let mut reached = map.objects().unwrap();
    reached.sort_unstable();
    assert_eq!(reached, used(&heap));
}

/// With one lane, what waited for another would wait for ever.
#[test]
fn what_goes_past_its_own_transaction_is_refused_and_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let heap = Heap::create_with(&path, POOL, Mode::Lines, &options(1)).unwrap();
    let map = HashMap::<u64, u64>::open(&heap, "map").unwrap();
    let place: Place<u64> = heap.root("object", 0).unwrap();
    map.insert(&1, &1).unwrap();
    heap.transaction(|tx| {
        tx.open(&map)?.insert(&1, &2)?;
        let refused = [
            map.get(&1).err(),
            map.insert(&1, &3).err(),
            map.remove(&1).err(),
            heap.publish(place, &7).err(),
            heap.free(place).err(),
            HashMap::<u64, u64>::open(&heap, "another").err(),
        ];
        for error in refused {
            assert_eq!(error.map(|error| error.cause()), Some(Cause::Usage));
        }
        tx.write(place, &tx.alloc(&8)?)
    })
    .unwrap();
    assert_eq!(map.get(&1), Ok(Some(2)));
    assert_eq!(heap.read(heap.read(place).unwrap()), Ok(8));
}
