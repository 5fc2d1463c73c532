//! Pools with false data under right checks: chance never makes them, but a mistake in this crate
//! could.

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::*;
use crate::dump::Dump;
use crate::info::info;
use crate::layout::chunk::Use;
use crate::layout::intent::{Commit, Intent, MAX_PAIRS};
use crate::layout::record::{RECORD_BYTES, Record};
use crate::layout::root::Root;
use crate::layout::{checked, header};
use crate::medium::simulated::{Granule, Simulated};
use crate::options::Options;
use crate::pool::Pool;
use crate::ptr::{Place, Ptr};
use crate::use_lane;

const CHUNKS: u64 = 24;
/// Chunk 1 holds the lanes, chunk 2 roots, chunk 3 objects, chunk 4 their records.
const ROOTS: u64 = 2;
const RUN: u64 = 3;
const RECORDS: u64 = 4;

static POOL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let options = Options::default().chunk_bytes(4096).lanes(2);
    let medium = Arc::new(Simulated::new(CHUNKS << 12, Granule::Line));
    let heap = Heap::make_on(Arc::clone(&medium), &options).unwrap();
    for i in 0..6 {
        use_lane(i % 2);
        let place: Place<[u64; 4]> = heap.root(&format!("root {i}"), 0).unwrap();
        heap.publish(place, &[i as u64; 4]).unwrap();
    }
    medium.bytes()
});

fn simulated(bytes: &[u8]) -> Arc<Simulated> {
    Arc::new(Simulated::from_bytes(bytes, Granule::Line))
}

/// Returns the pool with some of its words made others.
fn forged(forgeries: &[Forgery]) -> Vec<u8> {
    let pool = survey::open(simulated(&POOL)).unwrap();
    forgeries.iter().for_each(|forgery| forgery.put(&pool));
    pool.medium.medium().bytes()
}

fn found(forgery: Forgery) -> Vec<String> {
    let findings = check(simulated(&forged(&[forgery])));
    findings.iter().map(Finding::to_string).collect()
}

#[derive(Clone, Debug)]
enum Forgery {
    Counts(u64, u64),
    Chunk(u64, Use),
    Record(u64, Record),
    Settled(usize, u64),
    Intent(usize, u64, u64, Intent),
    Root(u64, u64, String),
}

impl Forgery {
    fn put<M: Medium>(&self, pool: &Pool<M>) {
        let geometry = &pool.geometry;
        match self {
            Self::Counts(chunks, used) => {
                for (at, count) in [(header::CHUNKS_AT, *chunks), (header::USED_AT, *used)] {
                    pool.store_words(at, &[header::encode_count(at, count)]);
                }
            }
            Self::Chunk(chunk, of) => pool.set_use(*chunk, *of),
            Self::Record(place, record) => {
                let at = geometry.offset_of(RECORDS) + place * RECORD_BYTES;
                pool.store_words(at, &record.encode(at));
            }
            Self::Settled(lane, sequence) => {
                let at = geometry.settled_of(*lane);
                pool.store_words(at, &[checked(at, *sequence)]);
            }
            Self::Intent(lane, number, sequence, intent) => {
                let at = geometry.intent_of(*lane, *number);
                pool.store_words(at, &intent.encode(at, *sequence));
            }
            Self::Root(number, pointer, name) => {
                let at = geometry.offset_of(ROOTS) + number * 128;
                let root = Root {
                    name: name.clone(),
                    size: 32,
                    align: 8,
                    kind: 0,
                };
                pool.store_words(at, &[*pointer]);
                pool.store_words(at + 8, &root.encode(at).unwrap());
            }
        }
    }
}

/// Returns the record of the first object, which others are made of.
fn record() -> Record {
    let pool = survey::open(simulated(&POOL)).unwrap();
    let at = pool.geometry.offset_of(RECORDS);
    Record::decode(at, pool.load_words(at)).unwrap()
}

#[test]
fn false_records() {
    assert_eq!(check(simulated(&POOL)), []);
    let first = record();
    assert_eq!(first.object >> 12, RUN);
    let object = |object| Record { object, ..first };
    let at = (RECORDS << 12) + 20 * RECORD_BYTES;
    for (record, what) in [
        (first, None),
        (
            object(first.object + 16),
            Some("names an object at 12304, where no slot begins"),
        ),
        (
            object(5 << 12),
            Some("names an object at 20480, where none can be"),
        ),
        (
            object(1 << 40),
            Some("names an object at 1099511627776, where none can be"),
        ),
        (
            Record {
                sequence: 0,
                ..first
            },
            Some("names it too"),
        ),
        (
            Record {
                bytes: Some(64),
                ..object(first.object + 32 * 40)
            },
            Some("names an object at 13568 of 64 bytes or more in a slot of 32"),
        ),
        (
            Record {
                lane: 2,
                ..object(first.object + 32 * 40)
            },
            Some("names lane 2 of 2"),
        ),
        (
            Record {
                destination: 1 << 30,
                ..object(first.object + 32 * 40)
            },
            Some("has its pointer at 1073741824, which is not in the pool"),
        ),
    ] {
        let of = |at, what| format!("at byte {at}, the record of an object {what}");
        let found = found(Forgery::Record(20, record));
        // Of two records that name the same object either is reported, with the other one.
        let both = format!(
            "names the object at {}, which the record at {at} names as well",
            first.object
        );
        match what {
            Some("names it too") => assert_eq!(found, [of(RECORDS << 12, &both[..])]),
            what => assert_eq!(found, Vec::from_iter(what.map(|what| of(at, what)))),
        }
    }
}

#[test]
fn false_words_about_chunks() {
    for (chunk, of, what) in [
        (
            4,
            Use::Run { slot: 272 },
            "says that it has slots of 272 bytes, which is no class",
        ),
        (
            5,
            Use::Large { chunks: CHUNKS },
            "says that it is used for more than there is",
        ),
        (
            5,
            Use::Log { lane: 2, chunks: 1 },
            "says that it is a log of lane 2, of 2",
        ),
        (5, Use::Lanes { chunks: 1 }, "says that the lanes are there"),
        (1, Use::Roots, "does not say that the lanes are there"),
    ] {
        // The count of those that were used comes first.
        let bytes = forged(&[Forgery::Counts(CHUNKS, 6), Forgery::Chunk(chunk, of)]);
        let found: Vec<String> = check(simulated(&bytes))
            .iter()
            .map(Finding::to_string)
            .collect();
        let sentence = format!(
            "at byte {}, the word about chunk {chunk} {what}",
            504 + chunk * 8
        );
        assert!(found.contains(&sentence), "{found:?}");
    }
    let overlap = found(Forgery::Chunk(3, Use::Large { chunks: 2 }));
    let what = "chunk 4 is used for records, and for objects from chunk 3 on";
    assert!(
        overlap.iter().any(|finding| finding.contains(what)),
        "{overlap:?}"
    );
}

#[test]
fn false_roots() {
    let twice = found(Forgery::Root(9, 0, "root 1".to_owned()));
    let sentence = "at byte 9344, the root \"root 1\" is there twice, at 8320 as well";
    assert_eq!(twice, [sentence]);
    let nowhere = found(Forgery::Root(9, 20 << 12, "nine".to_owned()));
    let sentence = "at byte 9344, the root \"nine\" points to 81920, where no object is in use";
    assert_eq!(nowhere, [sentence]);
}

#[test]
fn false_intents() {
    let words = |at| Intent::Words {
        pairs: [(at, 0), (0, 0), (0, 0)],
        count: 1,
        records: 0,
    };
    let what = "at byte 4160, an operation that may have to be repeated changes a word at 98304, which \
                is not in the pool";
    assert_eq!(found(Forgery::Intent(0, 0, 5, words(CHUNKS << 12))), [what]);
    assert_eq!(
        found(Forgery::Intent(0, 0, 3, words(CHUNKS << 12)))[0],
        what
    );
    // What was settled says nothing any more.
    let settled = Forgery::Settled(0, 7);
    let bytes = forged(&[settled, Forgery::Intent(0, 0, 5, words(CHUNKS << 12))]);
    assert_eq!(check(simulated(&bytes)), []);
}

fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => (0..CHUNKS * 512).prop_map(|word| word * 8),
        1 => any::<u64>(),
        1 => Just(CHUNKS << 12),
    ]
}

fn uses() -> impl Strategy<Value = Use> {
    let class = prop::sample::select(vec![16, 32, 48, 256, 320, 2048, 4096, 272]);
    let chunks = || prop_oneof![1u64..6, 1u64..1 << 24];
    prop_oneof![
        Just(Use::Free),
        Just(Use::Records),
        Just(Use::Roots),
        class.prop_map(|slot| Use::Run { slot }),
        chunks().prop_map(|chunks| Use::Large { chunks }),
        (0u16..4, chunks()).prop_map(|(lane, chunks)| Use::Log { lane, chunks }),
        chunks().prop_map(|chunks| Use::Lanes { chunks }),
    ]
}

fn intents() -> impl Strategy<Value = Intent> {
    let count = || prop_oneof![0u64..4, any::<u64>()];
    let pair = || (offset(), prop_oneof![Just(0), any::<u64>(), offset()]);
    prop_oneof![
        (prop::array::uniform3(pair()), 0..=MAX_PAIRS, 0u64..3).prop_map(
            |(pairs, count, records)| {
                Intent::Words {
                    pairs,
                    count,
                    records,
                }
            }
        ),
        (offset(), count(), offset(), count(), count(), any::<u64>()).prop_map(
            |(words, word_count, objects, object_count, records, log)| Intent::Commit(Commit {
                words,
                word_count,
                objects,
                object_count,
                records,
                log,
            })
        ),
        offset().prop_map(|entries| Intent::Undo { entries }),
    ]
}

fn records() -> impl Strategy<Value = Record> {
    let bytes = prop_oneof![Just(None), (0u64..300).prop_map(|units| Some(units * 16))];
    let slot = (RUN..8, 0u64..128).prop_map(|(chunk, slot)| (chunk << 12) + slot * 32);
    let contents = prop::option::of(any::<u32>());
    let object = prop_oneof![slot, offset()];
    (
        object,
        offset(),
        0u8..3,
        0u64..8,
        bytes,
        any::<bool>(),
        contents,
    )
        .prop_map(
            |(object, destination, lane, sequence, bytes, of_intent, contents)| Record {
                object: object & ((1 << 48) - 1),
                upper: 0,
                destination: destination & ((1 << 48) - 8),
                lane,
                kind: 0,
                sequence,
                bytes,
                of_intent,
                contents,
            },
        )
}

fn forgery() -> impl Strategy<Value = Forgery> {
    prop_oneof![
        1 => (0..CHUNKS + 2, 0..CHUNKS + 2).prop_map(|(chunks, used)| Forgery::Counts(chunks, used)),
        3 => (1..CHUNKS, uses()).prop_map(|(chunk, of)| Forgery::Chunk(chunk, of)),
        4 => (0u64..128, records()).prop_map(|(place, record)| Forgery::Record(place, record)),
        1 => (0usize..2, 0u64..9).prop_map(|(lane, sequence)| Forgery::Settled(lane, sequence)),
        4 => (0usize..2, 0u64..15, 0u64..8, intents())
            .prop_map(|(lane, number, sequence, of)| Forgery::Intent(lane, number, sequence, of)),
        1 => (0u64..32, offset(), "[a-z]{1,3}")
            .prop_map(|(number, pointer, name)| Forgery::Root(number, pointer, name)),
    ]
}

fn work(bytes: &[u8]) -> crate::Result<()> {
    let heap = crate::heap::open_on(simulated(bytes))?;
    heap.compact()?;
    for lane in 0..2 {
        use_lane(lane);
        let place: Place<[u64; 4]> = heap.root(&format!("more {lane}"), 0)?;
        let object = heap.publish(place, &[3; 4])?;
        heap.transaction(|tx| tx.write(object, &[5; 4]))?;
        heap.free(place)?;
    }
    for root in heap.roots()? {
        heap.free(root.place.cast::<Ptr<u8>>())?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    /// No panic, whatever it is, and what is refused is found.
    #[test]
    fn forged_pools_are_looked_at(
        used in prop_oneof![Just(None), (5..CHUNKS).prop_map(Some)],
        forgeries in prop::collection::vec(forgery(), 1..5),
    ) {
        let used = used.map(|used| Forgery::Counts(CHUNKS, used));
        let all: Vec<Forgery> = used.into_iter().chain(forgeries).collect();
        let bytes = forged(&all);
        let findings = check(simulated(&bytes));
        let opened = crate::heap::open_on(simulated(&bytes));
        prop_assert!(opened.is_ok() || !findings.is_empty());
        prop_assert_eq!(info(simulated(&bytes)).is_ok(), opened.is_ok());
        if let Ok(dump) = Dump::open(simulated(&bytes)) {
            for item in dump.items() {
                let _ = dump.object(item.offset);
            }
        }
        let _ = work(&bytes);
    }
}
