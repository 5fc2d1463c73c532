use std::sync::Arc;

use crate::medium::simulated::{Granule, Simulated};
use crate::{AllocatorKind, Counts, Heap, Options, Place};

type Value = [u64; 8];

fn create(allocator: AllocatorKind) -> (Arc<Simulated>, Heap<Arc<Simulated>>) {
    let pool = Arc::new(Simulated::new(256 << 10, Granule::Line));
    let options = Options::default()
        .chunk_bytes(4096)
        .lanes(2)
        .allocator(allocator);
    let heap = Heap::make_on(Arc::clone(&pool), &options).unwrap();
    (pool, heap)
}

fn cost(heap: &Heap<Arc<Simulated>>, work: impl FnOnce()) -> Counts {
    let before = heap.counts();
    work();
    heap.counts() - before
}

/// Publishes and frees an object, once everything that is needed for that is there.
fn costs(allocator: AllocatorKind) -> [Counts; 2] {
    let (_pool, heap) = create(allocator);
    let place: Place<Value> = heap.root("place", 0).unwrap();
    let word: Place<u8> = heap.root("word", 0).unwrap();
    let free_and_release = || {
        heap.free(place).unwrap();
        // What was freed is given back when it is certain that it is free.
        (0..3).for_each(|value| heap.set(word.cast(), value).unwrap());
    };
    heap.publish(place, &[1; 8]).unwrap();
    free_and_release();
    let publish = cost(&heap, || assert!(heap.publish(place, &[2; 8]).is_ok()));
    [publish, cost(&heap, free_and_release)]
}

/// Table 2 of the paper: 5.0 lines against 1.0; one of them is the object's record.
#[test]
fn a_slot_costs_four_lines_and_fences_more_than_with_the_write_aware_allocator() {
    let naive = costs(AllocatorKind::Naive);
    let nvwa = costs(AllocatorKind::Nvwa);
    for (naive, nvwa) in naive.into_iter().zip(nvwa) {
        let more = naive - nvwa;
        assert_eq!((more.lines, more.fences), (4, 4));
    }
    let object_record_and_pointer = 3;
    assert_eq!(nvwa[0].lines, object_record_and_pointer);
}

#[test]
fn what_is_kept_in_the_pool_is_checked() {
    let (pool, heap) = create(AllocatorKind::Naive);
    let place: Place<Value> = heap.root("place", 0).unwrap();
    heap.publish(place, &[1; 8]).unwrap();
    drop(heap);
    let bytes = pool.bytes();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    // The only header: of a run of slots of 64 bytes.
    let header = (0..bytes.len())
        .step_by(128)
        .find(|&at| word(at) & 0xff != 0 && word(at + 8) == 64 && word(at + 16) == 63)
        .unwrap();
    // The log would put right what it changed last: bitmap and free slots.
    let bin = (0..bytes.len())
        .step_by(64)
        .find(|&at| word(at) == header as u64 && word(at + 8) == 1);
    let log = bin.unwrap() + 64;
    assert_eq!(word(log + 16), header as u64);
    for at in [header, header + 8, header + 16, header + 64] {
        let mut damaged = bytes.clone();
        damaged[log..log + 64].fill(0);
        damaged[at] ^= 1;
        let medium = Arc::new(Simulated::from_bytes(&damaged, Granule::Line));
        let error = crate::heap::open_on(medium).err().expect("it is refused");
        assert!(error.to_string().contains("header"), "{error}");
    }
}

#[test]
fn runs_that_are_empty_serve_other_sizes() {
    let (_pool, heap) = create(AllocatorKind::Naive);
    let place: Place<Value> = heap.root("place", 0).unwrap();
    let large: Place<[u64; 256]> = heap.root("large", 0).unwrap();
    let places: Vec<Place<Value>> = (0..2000)
        .map_while(|i| {
            let place = heap.root(&format!("{i}"), 0).ok()?;
            heap.publish(place, &[i; 8]).ok()?;
            Some(place)
        })
        .collect();
    assert!(places.len() > 100 && heap.publish(large, &[1; 256]).is_err());
    for &place in &places {
        heap.free(place).unwrap();
    }
    heap.free(place).unwrap();
    heap.publish(large, &[1; 256]).unwrap();
}
