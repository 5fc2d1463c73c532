//! Keys and values of any length against their twins in the standard library: by single operations
//! and by transactions, with the pool closed and opened in between.

use std::borrow::Cow;
use std::collections::{self, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use terrace_heap::containers::{BTreeMap, HashMap, Identity, Queue, Serde, Value};
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Cause, Error, Heap};

mod common;
use common::{Memory, TestHeap, create, options, used};

type Bytes = Vec<u8>;

fn pool(bytes: u64) -> Memory {
    let pool = Arc::new(Simulated::new(bytes, Granule::Line));
    drop(create(Arc::clone(&pool), &options(2)));
    pool
}

fn open(pool: &Memory) -> TestHeap {
    common::open(Arc::clone(pool)).unwrap()
}

fn check(heap: &TestHeap, mut reached: Vec<u64>) {
    reached.sort_unstable();
    assert_eq!(reached, used(heap));
}

/// Keys; some begin as others do, and some are empty.
fn key() -> impl Strategy<Value = Bytes> {
    let short = prop::collection::vec(prop::sample::select(vec![0u8, 1, b'a', 255]), 0..5);
    prop_oneof![
        8 => short.clone(),
        1 => (short, 8usize..400).prop_map(|(mut key, len)| {
            key.resize(key.len() + len, 7);
            key
        }),
    ]
}

/// Values within their entry, apart from it, and in several parts.
fn value() -> impl Strategy<Value = Bytes> {
    let len = prop_oneof![8 => 0usize..60, 2 => 900usize..3000, 1 => 60_000usize..130_000];
    (len, any::<u8>()).prop_map(|(len, first)| {
        (0..len)
            .map(|at| first.wrapping_add((at % 251) as u8))
            .collect()
    })
}

/// What is done to a map, in one transaction or each by itself.
#[derive(Clone, Debug)]
struct Step {
    changes: Vec<(Bytes, Option<Bytes>)>,
    together: bool,
    /// The transaction fails.
    fails: bool,
    asked: Bytes,
}

fn steps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let change = (key(), prop::option::weighted(0.7, value()));
    let step = (
        prop::collection::vec(change, 1..8),
        any::<bool>(),
        any::<bool>(),
        key(),
    );
    let step = step.prop_map(|(changes, together, fails, asked)| Step {
        changes,
        together,
        fails,
        asked,
    });
    prop::collection::vec(prop::collection::vec(step, 0..12), 1..4)
}

/// Whether a transaction that was told to fail did.
fn failed<R>(done: Result<R, terrace_heap::Error>, fails: bool) -> bool {
    assert_eq!(done.is_err(), fails);
    fails
}

fn on_purpose(fails: bool) -> Result<(), terrace_heap::Error> {
    match fails {
        true => Err(terrace_heap::Error::usage("on purpose")),
        false => Ok(()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_hash_map_is_a_map(sessions in steps()) {
        let (pool, mut twin) = (pool(8 << 20), collections::HashMap::<Bytes, Bytes>::new());
        for session in sessions {
            let heap = open(&pool);
            let map = HashMap::<[u8], [u8], _>::open(&heap, "map").unwrap();
            for Step { changes, together, fails, asked } in session {
                let before = twin.clone();
                if together {
                    let done = heap.transaction(|tx| {
                        let map = tx.open(&map)?;
                        for (key, value) in &changes {
                            let old = match value {
                                Some(value) => (map.insert(key, value)?, twin.insert(key.clone(), value.clone())),
                                None => (map.remove(key)?, twin.remove(key)),
                            };
                            assert_eq!(old.0, old.1);
                            assert_eq!(map.get(key)?.as_ref(), value.as_ref());
                        }
                        assert_eq!(map.len()?, twin.len() as u64);
                        on_purpose(fails)
                    });
                    if failed(done, fails) {
                        twin = before;
                    }
                } else {
                    for (key, value) in &changes {
                        match value {
                            Some(value) => prop_assert_eq!(map.insert(key, value).unwrap(), twin.insert(key.clone(), value.clone())),
                            None => prop_assert_eq!(map.remove(key).unwrap(), twin.remove(key)),
                        }
                    }
                }
                prop_assert_eq!(map.get(&asked).unwrap(), twin.get(&asked).cloned());
                prop_assert_eq!(map.contains(&asked).unwrap(), twin.contains_key(&asked));
            }
            let all = map.iter().collect::<Result<collections::HashMap<_, _>, _>>().unwrap();
            prop_assert!(all == twin);
            prop_assert_eq!(map.len(), Ok(twin.len() as u64));
            check(&heap, map.objects().unwrap());
        }
    }

    #[test]
    fn a_tree_is_a_map_in_order(sessions in steps()) {
        let (pool, mut twin) = (pool(8 << 20), collections::BTreeMap::<Bytes, Bytes>::new());
        for session in sessions {
            let heap = open(&pool);
            let map = BTreeMap::<[u8], [u8], _>::open(&heap, "map").unwrap();
            for Step { changes, together, fails, asked } in session {
                let before = twin.clone();
                if together {
                    let done = heap.transaction(|tx| {
                        let map = tx.open(&map)?;
                        for (key, value) in &changes {
                            let old = match value {
                                Some(value) => (map.insert(key, value)?, twin.insert(key.clone(), value.clone())),
                                None => (map.remove(key)?, twin.remove(key)),
                            };
                            assert_eq!(old.0, old.1);
                            let from: Vec<_> = map.range(&key[..]..)?.collect::<Result<_, _>>()?;
                            let other: Vec<_> = twin.range(key.clone()..).collect();
                            assert!(from.iter().map(|(k, v)| (k, v)).eq(other));
                        }
                        assert_eq!(map.last()?.map(|(key, _)| key), twin.keys().last().cloned());
                        on_purpose(fails)
                    });
                    if failed(done, fails) {
                        twin = before;
                    }
                } else {
                    for (key, value) in &changes {
                        match value {
                            Some(value) => prop_assert_eq!(map.insert(key, value).unwrap(), twin.insert(key.clone(), value.clone())),
                            None => prop_assert_eq!(map.remove(key).unwrap(), twin.remove(key)),
                        }
                    }
                }
                let prefix: Vec<_> = map.prefix(&asked).rev().map(|entry| entry.unwrap().0).collect();
                let other: Vec<_> = twin.keys().rev().filter(|key| key.starts_with(&asked)).cloned().collect();
                prop_assert_eq!(prefix, other);
                let mut cursor = map.cursor();
                let (at, other) = (cursor.seek(&asked).unwrap(), twin.range(asked.clone()..).next());
                prop_assert_eq!(at.map(|entry| entry.0.to_vec()), other.map(|(key, _)| key.clone()));
                let before = cursor.prev().unwrap().map(|entry| entry.0.to_vec());
                prop_assert_eq!(before, twin.range(..asked.clone()).next_back().map(|(key, _)| key.clone()));
            }
            let all = map.iter().collect::<Result<Vec<_>, _>>().unwrap();
            prop_assert!(all.iter().map(|(k, v)| (k, v)).eq(twin.iter()));
            prop_assert_eq!(map.len(), Ok(twin.len() as u64));
            check(&heap, map.objects().unwrap());
        }
    }

    #[test]
    fn a_queue_is_a_deque(sessions in prop::collection::vec(prop::collection::vec((0u32..10, value(), any::<bool>()), 0..40), 1..4)) {
        let (pool, mut twin) = (pool(16 << 20), VecDeque::<Bytes>::new());
        for session in sessions {
            let heap = open(&pool);
            let queue = Queue::<[u8], _>::open(&heap, "it").unwrap();
            for (what, value, fails) in session {
                match what {
                    0..5 => {
                        queue.push(&value).unwrap();
                        twin.push_back(value);
                    }
                    5..8 => prop_assert_eq!(queue.pop().unwrap(), twin.pop_front()),
                    _ => {
                        let before = twin.clone();
                        let done = heap.transaction(|tx| {
                            let queue = tx.open(&queue)?;
                            for _ in 0..3 {
                                queue.push(&value)?;
                                twin.push_back(value.clone());
                                assert_eq!(queue.pop()?, twin.pop_front());
                                assert_eq!(queue.front()?, twin.front().cloned());
                            }
                            on_purpose(fails)
                        });
                        if failed(done, fails) {
                            twin = before;
                        }
                    }
                }
                prop_assert_eq!(queue.front().unwrap(), twin.front().cloned());
            }
            prop_assert_eq!(queue.iter().collect::<Result<VecDeque<_>, _>>().unwrap(), twin.clone());
            check(&heap, queue.objects().unwrap());
        }
    }
}

/// Bytes that are not all the same.
fn large(len: usize) -> Bytes {
    (0..len).map(|at| (at * 31 % 253) as u8).collect()
}

#[test]
fn a_value_may_be_nearly_as_large_as_the_pool() {
    let heap = Heap::anonymous(64 << 20).unwrap();
    let map = HashMap::<str, [u8]>::open(&heap, "map").unwrap();
    let tree = BTreeMap::<str, [u8]>::open(&heap, "tree").unwrap();
    let queue = Queue::<[u8]>::open(&heap, "queue").unwrap();
    let value = large(50 << 20);
    assert_eq!(map.insert("large", &value), Ok(None));
    assert!(map.get("large").unwrap().unwrap() == value);
    let error = tree.insert("large", &value).unwrap_err();
    assert_eq!(error.cause(), Cause::Full);
    assert_eq!(tree.get("large"), Ok(None));
    assert!(map.remove("large").unwrap().unwrap() == value);
    assert_eq!(tree.insert("large", &value), Ok(None));
    assert!(tree.first().unwrap().unwrap().1 == value);
    assert!(tree.remove("large").unwrap().is_some());
    queue.push(&value).unwrap();
    assert!(queue.pop().unwrap().unwrap() == value);
}

#[test]
fn a_key_that_is_too_long_is_refused() {
    let heap = Heap::anonymous(4 << 20).unwrap();
    let tree = BTreeMap::<[u8], u64>::open(&heap, "tree").unwrap();
    let longest = vec![1; 16 << 10];
    tree.insert(&longest, &1).unwrap();
    let error = tree.insert(&vec![1; (16 << 10) + 1], &1).unwrap_err();
    assert_eq!(error.cause(), Cause::Usage, "{error}");
    assert_eq!(tree.get(&longest), Ok(Some(1)));
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Event {
    Came { name: String, tags: Vec<String> },
    Went(String),
}

#[test]
fn any_type_that_serde_knows_is_a_key_a_value_and_an_element() {
    let heap = Heap::anonymous(4 << 20).unwrap();
    let map = BTreeMap::<Serde<(i64, String)>, Serde<Event>>::open(&heap, "map").unwrap();
    let queue = Queue::<Serde<Event>>::open(&heap, "queue").unwrap();
    let event = |i: i64| match i % 2 {
        0 => Event::Went(format!("{i}")),
        _ => Event::Came {
            name: format!("{i}"),
            tags: vec!["new".into(); i as usize % 5],
        },
    };
    for i in -200..200 {
        let key = Serde((i * 37 % 400, format!("{i}")));
        map.insert(&key, &Serde(event(i))).unwrap();
        queue.push(&Serde(event(i))).unwrap();
    }
    let keys: Vec<_> = map.iter().map(|entry| entry.unwrap().0).collect();
    assert!(keys.is_sorted() && keys.len() == 400);
    let found = map.get(&Serde((3 * 37, "3".into()))).unwrap();
    assert_eq!(found, Some(event(3)));
    let all: Vec<Event> = queue.iter().collect::<Result<_, _>>().unwrap();
    assert!(all.into_iter().eq((-200..200).map(event)));
}

impl Identity for Event {
    fn identity() -> Cow<'static, str> {
        "test.event".into()
    }
}

/// Says that it is an event, and has bytes that are none.
struct Forged;

impl Identity for Forged {
    fn identity() -> Cow<'static, str> {
        Serde::<Event>::identity()
    }
}

impl Value for Forged {
    type Owned = ();
    type View<'v> = ();

    const BYTES: Option<u64> = None;

    fn encode(&self) -> Result<Cow<'_, [u8]>, Error> {
        Ok(Cow::Borrowed(&[0xff]))
    }

    fn read(_: usize, _: impl FnOnce(&mut [u8]) -> Result<(), Error>) -> Result<(), Error> {
        Ok(())
    }

    fn view(_: &[u8]) -> Result<(), Error> {
        Ok(())
    }
}

#[test]
fn bytes_that_are_no_value_are_an_error() {
    let heap = Heap::anonymous(4 << 20).unwrap();
    let bytes = HashMap::<[u8], Forged>::open(&heap, "map").unwrap();
    bytes.insert(&[0xff, 0xfe], &Forged).unwrap();
    let event = HashMap::<[u8], Serde<Event>>::open(&heap, "map").unwrap();
    assert_eq!(
        event.get(&[0xff, 0xfe]).unwrap_err().cause(),
        Cause::Damaged
    );
}
