//! Compaction of the log of object records, and every way in which it can be interrupted.

use std::sync::{Arc, Mutex};

use terrace_heap::check::check;
use terrace_heap::info::info;
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Place, Ptr};

#[path = "common/mod.rs"]
mod common;
use common::{create, open, options, used};

/// A table of pointers to objects of two words.
const ENTRIES: usize = 700;
type Table = [Ptr<Object>; ENTRIES];
type Object = [u64; 2];

/// A pool that keeps every `keep`th of its objects, so that records are sparse: a chunk has
/// room for 128.
fn sparse(objects: usize, keep: usize, granule: Granule) -> Vec<u8> {
    let medium = Arc::new(Simulated::new(96 << 12, granule));
    let heap = create(Arc::clone(&medium), &options(2));
    let root: Place<Table> = heap.root("table", 0).unwrap();
    let table = heap.publish(root, &[Ptr::NULL; ENTRIES]).unwrap();
    for i in 0..objects {
        heap.publish(table.field(i * 8), &[i as u64, 7]).unwrap();
    }
    for i in (0..objects).filter(|i| i % keep != 0) {
        heap.free::<Object>(table.field(i * 8)).unwrap();
    }
    drop(heap);
    medium.bytes()
}

/// What can be seen of a pool, after it was found sound.
fn contents(medium: &Simulated) -> (Vec<u64>, Vec<(usize, Object)>) {
    let copy = || Simulated::from_bytes(&medium.bytes(), Granule::Line);
    assert_eq!(check(copy()), []);
    let heap = open(copy()).unwrap();
    let root: Place<Table> = heap.root("table", 0).unwrap();
    let table = heap.read(heap.read(root).unwrap()).unwrap();
    let there = table
        .iter()
        .enumerate()
        .filter(|(_, object)| !object.is_null());
    let there = there.map(|(i, &object)| (i, heap.read(object).unwrap()));
    (used(&heap), there.collect())
}

/// Compacts a pool, and says how many bytes became free.
fn compacted(medium: &Arc<Simulated>) -> u64 {
    let heap = open(Arc::clone(medium)).unwrap();
    heap.compact().unwrap()
}

#[test]
fn sparse_records_fill_as_few_chunks_as_they_need() {
    let bytes = sparse(700, 20, Granule::Line);
    let medium = Arc::new(Simulated::from_bytes(&bytes, Granule::Line));
    let before = contents(&medium);
    assert_eq!(before.1.len(), 35);
    assert_eq!(compacted(&medium), 5 * 4096);
    assert_eq!(contents(&medium), before);
    let info = info(Simulated::from_bytes(&medium.bytes(), Granule::Line)).unwrap();
    assert_eq!((info.chunks.records, info.records.used), (1, 36));

    assert_eq!(compacted(&medium), 0);
    let heap = open(medium).unwrap();
    let table = heap.read(heap.root::<Table>("table", 0).unwrap()).unwrap();
    heap.free::<Object>(table.field(0)).unwrap();
    for i in 1..20 {
        heap.publish(table.field(i * 8), &[1, 1]).unwrap();
    }
    assert_eq!(used(&heap).len(), 36 - 1 + 19);
}

#[test]
fn a_log_without_room_to_spare_stays_as_it_is() {
    let medium = Arc::new(Simulated::from_bytes(
        &sparse(250, 1, Granule::Line),
        Granule::Line,
    ));
    let before = medium.bytes();
    assert_eq!(compacted(&medium), 0);
    assert!(medium.bytes() == before);
}

/// Looks at what crashes leave before each fence, and at what crashes of the recovery from that
/// leave.
fn interrupted(bytes: &[u8], granule: Granule, images: u64, again: u64) -> u64 {
    let medium = Arc::new(Simulated::from_bytes(bytes, granule));
    let expected = Arc::new(contents(&medium));
    let looked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&looked);
    medium.at_fence(move |medium| {
        for image in medium.crash_images(images, 3) {
            *count.lock().unwrap() += 1;
            assert_eq!(contents(&image), *expected);
            let (image, after) = (Arc::new(image), Arc::clone(&expected));
            image.at_fence(move |image| {
                for left in image.crash_images(again, 5) {
                    assert_eq!(contents(&left), *after);
                }
            });
            compacted(&image);
            assert_eq!(contents(&image), *expected);
        }
    });
    compacted(&medium);
    *looked.lock().unwrap()
}

#[test]
fn every_crash_of_a_small_compaction() {
    // Four records move, two to a line: 9 states of each line before the first fence.
    let bytes = sparse(160, 8, Granule::Line);
    let looked = interrupted(&bytes, Granule::Line, u64::MAX, 8);
    assert!(looked > 80, "{looked}");
}

#[test]
fn a_sample_of_the_crashes_of_a_large_one() {
    let bytes = sparse(700, 20, Granule::Line);
    for granule in [Granule::Line, Granule::Sector, Granule::Page] {
        interrupted(&bytes, granule, 8, 3);
    }
}
