//! Pools to corrupt, and looking at them in all ways.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use terrace_heap::check::{Finding, check};
use terrace_heap::containers::HashMap;
use terrace_heap::dump::{Dump, Field, Item};
use terrace_heap::info::info;
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Error, Hint, Place, Ptr, use_lane};

use crate::common::{TestHeap as SimulatedHeap, create, open, options};

/// A node of a list: the next one, and some words.
type Node = [u64; 6];
type Map = HashMap<u64, [u64; 2], Arc<Simulated>>;

pub const CHUNK: u64 = 4096;
pub const CHUNKS: u64 = 64;

/// A pool that was closed.
pub static CLOSED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (medium, heap) = made(whole());
    drop(heap);
    medium.bytes()
});
/// The same, left as it was by a program that ended in the middle.
pub static LEFT: LazyLock<Vec<u8>> = LazyLock::new(|| made(whole()).0.bytes());
/// The same on a plain file, where a crash has kept nothing but what is in the journal.
pub static JOURNALED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (medium, _heap) = made(whole().writing_pages());
    let image = medium.crash_images(1, 1).next().unwrap();
    image.bytes()
});

fn whole() -> Simulated {
    Simulated::new(CHUNKS * CHUNK, Granule::Line)
}

/// A pool in use.
fn made(medium: Simulated) -> (Arc<Simulated>, SimulatedHeap) {
    let medium = Arc::new(medium);
    let heap = create(Arc::clone(&medium), &options(3));
    fill(&heap).unwrap();
    (medium, heap)
}

/// A list, a large object, some that were freed, a hash map, and transactions of both kinds, in all
/// lanes.
fn fill(heap: &SimulatedHeap) -> Result<(), Error> {
    use_lane(0);
    let mut place: Place<Node> = heap.root("list", 1)?;
    for i in 0..12 {
        use_lane(i as usize % 3);
        place = heap.publish(place, &[0, i, 1, 2, 3, 4])?.field(0);
    }
    let large: Place<[u64; 1200]> = heap.root("large", 2)?;
    heap.publish(large, &[5; 1200])?;
    for i in 0..5 {
        let short: Place<Node> = heap.root(&format!("short {i}"), 0)?;
        heap.publish(short, &[7; 6])?;
        if i % 2 == 0 {
            heap.free(short)?;
        }
    }
    let map = Map::open_with_capacity(heap, "map", 1)?;
    for i in 0..60 {
        use_lane(i as usize % 3);
        map.insert(&i, &[i, i])?;
    }
    (0..60)
        .step_by(7)
        .try_for_each(|i| map.remove(&i).map(drop))?;
    let first = heap.read(heap.root::<Node>("list", 1)?)?;
    heap.transaction(|tx| {
        tx.write_with(first.field::<[u64; 5]>(8), &[9; 5], Hint::Object)?;
        (1..6).try_for_each(|i| tx.set(first.field(8 * i), 10))?;
        let new = tx.alloc(&[1u64; 6])?;
        tx.write(heap.root("new", 0)?, &new)
    })?;
    use_lane(1);
    heap.transaction(|tx| tx.set(first.field(8), 11))
}

pub fn simulated(bytes: &[u8]) -> Arc<Simulated> {
    Arc::new(Simulated::from_bytes(bytes, Granule::Line))
}

pub fn findings(bytes: &[u8]) -> Vec<Finding> {
    check(simulated(bytes))
}

pub fn items(bytes: &[u8]) -> Vec<Item> {
    Dump::open(simulated(bytes)).unwrap().items().collect()
}

/// A number that is said of an item.
pub fn number(item: &Item, name: &str) -> u64 {
    let field = item.fields.iter().find(|(field, _)| *field == name);
    match field {
        Some((_, Field::Number(number))) => *number,
        _ => panic!("{item} has no number {name}"),
    }
}

/// Does with a pool whatever can be done with one. Nothing panics, nothing hangs, and what is
/// refused is found by `check`.
pub fn look(bytes: &[u8]) {
    let found = findings(bytes);
    assert!(
        found
            .iter()
            .all(|finding| finding.to_string().contains("at byte "))
    );
    dump(bytes);
    let opened = open(simulated(bytes));
    let informed = info(simulated(bytes));
    assert_eq!(opened.is_ok(), informed.is_ok());
    match opened {
        Ok(heap) => {
            read_all(&heap);
            let _ = read_map(&heap);
            let _ = heap.compact();
            // Full, or not as it should be, but no panic.
            let _ = use_all(&heap);
        }
        Err(error) => {
            assert!(!found.is_empty(), "{error}, and nothing was found");
            assert!(!error.to_string().is_empty());
        }
    }
}

fn dump(bytes: &[u8]) {
    let Ok(dump) = Dump::open(simulated(bytes)) else {
        return;
    };
    for item in dump.items() {
        assert!(!item.to_string().is_empty());
        if item.what == "record" {
            let _ = dump.object(number(&item, "object"));
        }
    }
}

/// Follows every word that could be a pointer.
fn read_all(heap: &SimulatedHeap) {
    let mut seen = BTreeSet::new();
    let mut next: Vec<u64> = heap
        .roots()
        .unwrap()
        .iter()
        .map(|root| root.pointer.offset())
        .collect();
    next.extend(heap.objects().unwrap().iter().map(|object| object.offset));
    while let Some(at) = next.pop() {
        if seen.insert(at)
            && let Ok(node) = heap.read(Ptr::<Node>::at(at))
        {
            next.extend(node);
        }
    }
}

/// Reads all entries of the map, by its own ways.
fn read_map(heap: &SimulatedHeap) -> Result<(), Error> {
    let map = Map::open(heap, "map")?;
    for i in 0..60 {
        let _ = map.get(&i);
        let _ = map.insert(&(i + 30), &[1, 2]);
        let _ = map.remove(&(i + 10));
    }
    let _ = map.iter().take(1000).count();
    map.len().map(drop)
}

/// Works with what is there.
fn use_all(heap: &SimulatedHeap) -> Result<(), Error> {
    for lane in 0..3 {
        use_lane(lane);
        let place: Place<Node> = heap.root(&format!("more {lane}"), 0)?;
        let node = heap.publish(place, &[3; 6])?;
        heap.set(node.field(8), 4)?;
        heap.transaction(|tx| tx.write(node, &[5; 6]))?;
        heap.transaction(|tx| tx.write(node, &[6; 6]))?;
        heap.free(place)?;
    }
    for root in heap.roots()? {
        heap.free(root.place.cast::<Ptr<u8>>())?;
    }
    Ok(())
}
