//! Containers against their twins in the standard library, with the pool closed and opened in
//! between; and what is no such container is refused.

use std::borrow::Cow;
use std::collections::{self, VecDeque};
use std::fmt::Debug;
use std::ops::Bound;
use std::sync::Arc;

use proptest::prelude::*;
use terrace_heap::bytemuck::{Pod, Zeroable};
use terrace_heap::containers::{BTreeMap, HashMap, Identity, Queue, Vector};
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Error, Ptr};

#[path = "common/mod.rs"]
mod common;
use common::{Memory, TestHeap, create, options, used};

fn pool() -> Memory {
    let pool = Arc::new(Simulated::new(1 << 20, Granule::Line));
    drop(create(Arc::clone(&pool), &options(2)));
    pool
}

fn open(pool: &Memory) -> TestHeap {
    common::open(Arc::clone(pool)).unwrap()
}

/// What is used is what is reached.
fn check(heap: &TestHeap, mut reached: Vec<u64>) {
    reached.sort_unstable();
    assert_eq!(reached, used(heap));
}

/// An odd size, so that elements are filled up.
fn bytes(value: u64) -> [u8; 21] {
    std::array::from_fn(|i| (value >> (i % 8 * 8)) as u8 ^ i as u8)
}

type Session = Vec<(u32, u16, u64)>;

/// Keys are all below 500.
fn tree_is_a_tree<K: Pod + Identity + Ord + Debug>(sessions: Vec<Session>, key: impl Fn(u64) -> K) {
    let (pool, mut twin) = (pool(), collections::BTreeMap::new());
    for session in sessions {
        let heap = open(&pool);
        let tree = BTreeMap::<K, u64, _>::open(&heap, "it").unwrap();
        for (what, at, value) in session {
            let (at, count) = (u64::from(at), value % 40);
            match what {
                // Ascending, descending and scattered ones.
                0..6 => {
                    for i in 0..count {
                        let k = key([at + i, at + 600 - i, at + i * 37][what as usize % 3] % 500);
                        assert_eq!(tree.insert(&k, &value).unwrap(), twin.insert(k, value));
                    }
                }
                6..9 => {
                    for i in 0..count {
                        let k = key((at + i * [1, 13][what as usize % 2]) % 500);
                        assert_eq!(tree.remove(&k).unwrap(), twin.remove(&k));
                    }
                }
                // A batch that fails changes nothing; one that does not, all.
                _ => {
                    let before = twin.clone();
                    let done = heap.transaction(|tx| {
                        let batch = tx.open(&tree)?;
                        for i in 0..count * 2 {
                            let k = key((at + i * i) % 500);
                            match i / 10 % 2 == value % 2 {
                                true => assert_eq!(batch.remove(&k)?, twin.remove(&k)),
                                false => assert_eq!(batch.insert(&k, &i)?, twin.insert(k, i)),
                            }
                            assert_eq!(batch.get(&k)?, twin.get(&k).copied());
                        }
                        match what {
                            9 => Err(Error::usage("no")),
                            _ => Ok(()),
                        }
                    });
                    if done.is_err() {
                        twin = before;
                    }
                }
            }
            assert_eq!(tree.get(&key(at)).unwrap(), twin.get(&key(at)).copied());
            assert_eq!(tree.len().unwrap(), twin.len() as u64);
            let pair = |(k, v): (&K, &u64)| (*k, *v);
            assert_eq!(tree.first().unwrap(), twin.first_key_value().map(pair));
            assert_eq!(tree.last().unwrap(), twin.last_key_value().map(pair));
            let range = (Bound::Excluded(key(at)), Bound::Included(key(at + count)));
            let found: Result<Vec<_>, _> = tree.range(range).unwrap().collect();
            if count > 0 {
                assert_eq!(
                    found.unwrap(),
                    twin.range(range).map(pair).collect::<Vec<_>>()
                );
            } else {
                assert_eq!(found.unwrap(), []);
            }
        }
        let all: Result<collections::BTreeMap<_, _>, _> = tree.iter().collect();
        assert_eq!(all.unwrap(), twin);
        assert_eq!(tree.is_empty().unwrap(), twin.is_empty());
        check(&heap, tree.objects().unwrap());
    }
}

fn sessions() -> impl Strategy<Value = Vec<Session>> {
    let op = (0u32..11, 0u16..500, any::<u64>());
    prop::collection::vec(prop::collection::vec(op, 0..25), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_vector_is_a_vec(
        sessions in prop::collection::vec(
            prop::collection::vec((0u32..12, any::<u64>()), 0..60), 1..4),
    ) {
        let (pool, mut twin) = (pool(), Vec::new());
        for session in sessions {
            let heap = open(&pool);
            let vector = Vector::<[u8; 21], _>::open(&heap, "it").unwrap();
            for (what, value) in session {
                let (element, index) = (bytes(value), value % (twin.len() as u64 + 1));
                match what {
                    0..6 => {
                        vector.push(&element).unwrap();
                        twin.push(element);
                    }
                    6 | 7 => prop_assert_eq!(vector.pop().unwrap(), twin.pop()),
                    8 => {
                        let done = vector.set(index, &element);
                        match twin.get_mut(index as usize) {
                            Some(at) => {
                                *at = element;
                                prop_assert_eq!(done, Ok(()));
                            }
                            None => prop_assert!(done.is_err()),
                        }
                    }
                    9 => {
                        vector.truncate(index).unwrap();
                        twin.truncate(index as usize);
                    }
                    // A batch that fails changes nothing; one that does not, all.
                    _ => {
                        let before = twin.clone();
                        let done: Result<(), Error> = heap.transaction(|tx| {
                            let batch = tx.open(&vector)?;
                            for i in 0..value % 30 {
                                match i % 4 {
                                    3 => assert_eq!(batch.pop()?, twin.pop()),
                                    _ => {
                                        batch.push(&bytes(i))?;
                                        twin.push(bytes(i));
                                    }
                                }
                            }
                            if what == 11 {
                                batch.set(u64::MAX, &element)?;
                            }
                            Ok(())
                        });
                        prop_assert_eq!(done.is_err(), what == 11);
                        if what == 11 {
                            twin = before;
                        }
                    }
                }
                prop_assert_eq!(vector.get(index).unwrap(), twin.get(index as usize).copied());
            }
            prop_assert_eq!(vector.iter().collect::<Result<Vec<_>, _>>().unwrap(), &twin[..]);
            prop_assert_eq!(vector.len(), Ok(twin.len() as u64));
            check(&heap, vector.objects().unwrap());
        }
    }

    #[test]
    fn a_tree_is_a_tree(sessions in sessions()) {
        tree_is_a_tree(sessions, |key| key as u16);
    }

    /// Keys so large that nodes have only a few.
    #[test]
    fn a_high_tree_is_a_tree(sessions in sessions()) {
        tree_is_a_tree(sessions, |key| [key; 16]);
    }

    /// Elements so large that a segment has only a few.
    #[test]
    fn a_queue_is_a_deque(
        sessions in prop::collection::vec(
            prop::collection::vec((0u32..10, 1u64..8), 0..40), 1..4),
    ) {
        let (pool, mut twin) = (pool(), VecDeque::new());
        for session in sessions {
            let heap = open(&pool);
            let queue = Queue::<[u64; 120], _>::open(&heap, "it").unwrap();
            for (what, count) in session {
                for i in 0..count {
                    if what < 5 {
                        queue.push(&[i; 120]).unwrap();
                        twin.push_back([i; 120]);
                    } else {
                        prop_assert_eq!(queue.pop().unwrap(), twin.pop_front());
                    }
                }
                prop_assert_eq!(queue.front().unwrap(), twin.front().copied());
                prop_assert_eq!(queue.len(), Ok(twin.len() as u64));
            }
            prop_assert_eq!(queue.iter().collect::<Result<VecDeque<_>, _>>().unwrap(), twin.clone());
            check(&heap, queue.objects().unwrap());
        }
    }
}

/// What goes while it is iterated over is left out, and what comes is not.
#[test]
fn a_queue_changes_under_an_iterator() {
    let heap = open(&pool());
    let queue = Queue::<[u64; 120], _>::open(&heap, "it").unwrap();
    (0..10).for_each(|i| queue.push(&[i; 120]).unwrap());
    let mut iter = queue.iter();
    assert_eq!(iter.next(), Some(Ok([0; 120])));
    (0..9).for_each(|_| assert!(queue.pop().unwrap().is_some()));
    assert_eq!(iter.next(), Some(Ok([9; 120])));
    assert_eq!(iter.next(), None);
    (10..13).for_each(|i| queue.push(&[i; 120]).unwrap());
    assert_eq!(iter.next(), Some(Ok([10; 120])));
}

/// Says that it is `[u64; 2]`, and is aligned otherwise.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Aligned([u64; 2]);

// SAFETY: two words; any two are valid.
unsafe impl Zeroable for Aligned {}
// SAFETY: as above, without padding.
unsafe impl Pod for Aligned {}

impl Identity for Aligned {
    fn identity() -> Cow<'static, str> {
        <[u64; 2]>::identity()
    }
}

#[test]
fn what_is_something_else_is_refused() {
    let heap = open(&pool());
    drop(Vector::<u32, _>::open(&heap, "vector").unwrap());
    drop(HashMap::<u64, u64, _>::open_with_capacity(&heap, "map", 1).unwrap());
    let refused = |error: Option<terrace_heap::Error>, sentence: &str| {
        let error = error.unwrap().to_string();
        assert!(error.contains(sentence), "{error}");
    };
    refused(
        Vector::<u64, _>::open(&heap, "vector").err(),
        "the vector \"vector\" holds u32 (4 bytes), and was to be opened as one of u64 (8 bytes); open it",
    );
    drop(Queue::<u32, _>::open(&heap, "queue").unwrap());
    refused(
        Queue::<u64, _>::open(&heap, "queue").err(),
        "the queue \"queue\" holds u32 (4 bytes), and was to be opened as one of u64 (8 bytes)",
    );
    refused(
        Queue::<u64, _>::open(&heap, "vector").err(),
        "has another type",
    );
    let tree = BTreeMap::<u32, [u64; 2], _>::open(&heap, "tree").unwrap();
    refused(
        BTreeMap::<u64, u64, _>::open(&heap, "tree").err(),
        "holds u32 (4 bytes) to [u64; 2] (16 bytes), and was to be opened as one of u64 (8 bytes) to u64",
    );
    refused(
        BTreeMap::<u64, u64, _>::open(&heap, "queue").err(),
        "has another type",
    );
    // Of the same size, in another order: most keys would not be found.
    refused(
        BTreeMap::<i32, [u64; 2], _>::open(&heap, "tree").err(),
        "as one of i32 (4 bytes) to [u64; 2] (16 bytes)",
    );
    // The same bytes, aligned otherwise.
    refused(
        BTreeMap::<u32, Aligned, _>::open(&heap, "tree").err(),
        "holds u32 (4 bytes) to [u64; 2] (16 bytes) with alignments of [4, 8], and was to be opened as \
         one of u32 (4 bytes) to [u64; 2] (16 bytes) with alignments of [4, 16]",
    );
    refused(
        HashMap::<u64, i64, _>::open(&heap, "map").err(),
        "the hash map \"map\" holds u64 (8 bytes) to u64 (8 bytes)",
    );
    drop(HashMap::<u64, u64, _>::open(&heap, "map").unwrap());
    let within = heap.transaction(|_| tree.insert(&1, &[1; 2]));
    refused(within.err(), "has a transaction of the heap under way");
    refused(
        Vector::<u64, _>::open(&heap, "map").err(),
        "has another type",
    );
}

/// Handles of a container that is emptied go on with the empty one, and one that is open is not
/// removed.
#[test]
fn what_is_emptied_is_used_again() {
    let heap = open(&pool());
    let map = HashMap::<u64, u64, _>::open_with_capacity(&heap, "map", 1).unwrap();
    let tree = BTreeMap::<u64, u64, _>::open(&heap, "tree").unwrap();
    let queue = Queue::<u64, _>::open(&heap, "queue").unwrap();
    let before = used(&heap).len();
    for round in 0..4 {
        let mut elements = queue.iter();
        for key in 0..1000 {
            map.insert(&key, &round).unwrap();
            tree.insert(&key, &round).unwrap();
            queue.push(&key).unwrap();
        }
        assert_eq!(elements.next(), Some(Ok(0)));
        let (mut entries, mut cursor) = (map.iter(), tree.iter());
        assert!(entries.next().is_some() && cursor.next().is_some());
        assert_eq!(
            (map.len(), tree.len(), queue.len()),
            (Ok(1000), Ok(1000), Ok(1000))
        );
        assert_eq!(
            (tree.pop_first(), tree.pop_last()),
            (Ok(Some((0, round))), Ok(Some((999, round))))
        );
        map.clear().unwrap();
        tree.clear().unwrap();
        queue.clear().unwrap();
        assert_eq!((map.len(), tree.len(), queue.len()), (Ok(0), Ok(0), Ok(0)));
        assert_eq!(
            (map.get(&7), tree.get(&7), queue.front()),
            (Ok(None), Ok(None), Ok(None))
        );
        assert!(tree.pop_first() == Ok(None) && cursor.next().is_none());
        assert_eq!(used(&heap).len(), before);
        queue.push(&77).unwrap();
        assert_eq!((elements.next(), queue.pop()), (Some(Ok(77)), Ok(Some(77))));
        // What was read before it was emptied may still come.
        assert!(entries.map(Result::unwrap).count() < 100);
        queue.clear().unwrap();
    }
    let error = heap.remove("map").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the container is open; drop its handles first"
    );
    drop((map, tree, queue));
    for name in ["map", "tree", "queue"] {
        assert_eq!(
            (heap.remove(name), heap.remove(name)),
            (Ok(true), Ok(false))
        );
    }
    assert_eq!(used(&heap), [0; 0]);
    assert_eq!(heap.roots(), Ok(vec![]));
}

/// Calls everything that reads or changes; what it says is of no matter.
fn use_all(heap: &TestHeap) {
    if let Ok(vector) = Vector::<[u64; 3], _>::open(heap, "vector") {
        let _ = (vector.objects(), vector.get(50), vector.len());
        let _ = vector.iter().take(200).collect::<Result<Vec<_>, _>>();
        let _ = (vector.push(&[1; 3]), vector.set(3, &[2; 3]), vector.pop());
        let _ = heap.transaction(|tx| tx.open(&vector)?.push(&[1; 3]));
    }
    if let Ok(queue) = Queue::<[u64; 120], _>::open(heap, "queue") {
        let _ = (queue.objects(), queue.len(), queue.iter().count());
        let _ = (queue.push(&[1; 120]), queue.pop(), queue.pop());
    }
    if let Ok(tree) = BTreeMap::<[u64; 16], u64, _>::open(heap, "tree") {
        let _ = (tree.objects(), tree.len(), tree.first(), tree.last());
        let _ = tree.iter().take(200).collect::<Result<Vec<_>, _>>();
        for key in 0..40 {
            let _ = (tree.insert(&[key; 16], &1), tree.remove(&[key / 2; 16]));
        }
        let _ = heap.transaction(|tx| tx.open(&tree)?.insert(&[99; 16], &1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 50, ..ProptestConfig::default() })]

    /// Whatever is in a word of a container, nothing panics or goes on without end.
    #[test]
    fn damage_is_a_sentence(
        at in any::<prop::sample::Index>(),
        object in any::<prop::sample::Index>(),
        value in prop_oneof![
            Just(0), Just(u64::MAX), 0u64..200, any::<u64>(), (0u64..1 << 17).prop_map(|at| at * 8)
        ],
        of in 0usize..3,
    ) {
        let pool = pool();
        let heap = open(&pool);
        let vector = Vector::<[u64; 3], _>::open(&heap, "vector").unwrap();
        let queue = Queue::<[u64; 120], _>::open(&heap, "queue").unwrap();
        let tree = BTreeMap::<[u64; 16], u64, _>::open(&heap, "tree").unwrap();
        for i in 0..30 {
            vector.push(&[i; 3]).unwrap();
            queue.push(&[i; 120]).unwrap();
            tree.insert(&[i * 17 % 30; 16], &i).unwrap();
        }
        let objects = [vector.objects(), queue.objects(), tree.objects()];
        let objects = objects[of].as_ref().unwrap();
        let object = objects[object.index(objects.len())];
        // The first words are those that are not data.
        let words = heap.object(Ptr::<u8>::at(object)).unwrap().bytes / 8;
        let word = object + at.index(words.min(20) as usize) as u64 * 8;
        drop((vector, queue, tree));
        heap.set(Ptr::at(word), value).unwrap();
        use_all(&heap);
    }
}
