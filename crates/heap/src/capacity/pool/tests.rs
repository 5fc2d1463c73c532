use std::sync::Arc;

use super::*;
use crate::medium::simulated::{Granule, Simulated};
use crate::{AllocatorKind, Options, Place};

fn create(allocator: AllocatorKind) -> (Arc<Simulated>, Heap<Arc<Simulated>>) {
    let pool = Arc::new(Simulated::new(256 << 10, Granule::Line));
    let options = Options {
        chunk_bytes: 4096,
        lanes: 2,
        allocator,
    };
    let heap = Heap::create_on(Arc::clone(&pool), &options).unwrap();
    (pool, heap)
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 8).unwrap()
}

#[test]
fn capacity_is_gone_when_the_pool_is_opened_again_and_objects_are_not() {
    for allocator in [AllocatorKind::Nvwa, AllocatorKind::Naive] {
        let (pool, heap) = create(allocator);
        let place: Place<[u64; 8]> = heap.root("place", 0).unwrap();
        let mut object = heap.publish(place, &[7; 8]).unwrap();
        let free = heap.core().space.chunks.count();
        for round in 0..50 {
            let memory = heap.capacity(layout(100 * round)).unwrap();
            // SAFETY: ours.
            unsafe { memory.write_bytes(0xff, 100 * round) };
            heap.free(place).unwrap();
            object = heap.publish(place, &[round as u64; 8]).unwrap();
        }
        assert!(heap.capacity_bytes() > 50 * 2500 && heap.core().space.chunks.count() < free);
        // As it is after a crash that has written back every line, and as it is without one.
        let crashed = pool.bytes();
        drop(heap);
        for bytes in [crashed, pool.bytes()] {
            let medium = Arc::new(Simulated::from_bytes(&bytes, Granule::Line));
            let heap = Heap::open_on(medium).unwrap();
            assert_eq!(heap.core().space.chunks.count(), free);
            assert_eq!(heap.read(object), Ok([49; 8]));
            assert_eq!(heap.objects().len(), 1);
        }
    }
}

#[test]
fn nothing_is_stored_flushed_or_fenced_for_slots() {
    let (_pool, heap) = create(AllocatorKind::Nvwa);
    let first = heap.capacity(layout(64)).unwrap();
    let before = heap.counts();
    for _ in 0..60 {
        let memory = heap.capacity(layout(64)).unwrap();
        // SAFETY: ours, and freed once.
        unsafe { heap.free_capacity(memory).unwrap() };
    }
    assert_eq!(heap.counts(), before);
    // SAFETY: ours, and freed once.
    unsafe { heap.free_capacity(first).unwrap() };
    assert_eq!(heap.capacity_bytes(), 0);
    // SAFETY: it is refused.
    let error = unsafe { heap.free_capacity(first) }.unwrap_err();
    assert_eq!(error.cause, Cause::Usage);
}

#[test]
fn both_uses_share_what_there_is() {
    let (_pool, heap) = create(AllocatorKind::Nvwa);
    let place: Place<[u64; 1024]> = heap.root("place", 0).unwrap();
    let mut all: Vec<_> = (0..)
        .map_while(|_| heap.capacity(layout(3000)).ok())
        .collect();
    assert!(all.len() > 50);
    assert_eq!(
        heap.publish(place, &[1; 1024]).unwrap_err().cause,
        Cause::Full
    );
    for memory in all.drain(..) {
        // SAFETY: ours, and freed once.
        unsafe { heap.free_capacity(memory).unwrap() };
    }
    heap.publish(place, &[1; 1024]).unwrap();
    heap.free(place).unwrap();
    heap.set(heap.root::<u8>("word", 0).unwrap().cast(), 1)
        .unwrap();
    heap.set(heap.root::<u8>("word", 0).unwrap().cast(), 2)
        .unwrap();
    let large = heap.capacity(layout(150_000)).unwrap();
    // SAFETY: ours, and freed once.
    unsafe { heap.free_capacity(large).unwrap() };
}

#[test]
fn values_are_dropped_and_slices_grow() {
    let heap = Heap::anonymous(8 << 20).unwrap();
    let counted = Arc::new(());
    let mut boxed = heap.capacity_box((Arc::clone(&counted), 5)).unwrap();
    boxed.1 += 1;
    assert_eq!((Arc::strong_count(&counted), boxed.1), (2, 6));
    let mut slice = heap.capacity_slice::<u32>(10).unwrap();
    slice.copy_from_slice(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for len in [100_000, 1_000_000, 12] {
        slice.resize(len).unwrap();
        let tens = slice[..10].iter().sum::<u32>();
        assert_eq!(
            (slice.len(), tens, slice[10], slice[len - 1]),
            (len, 45, 0, 0)
        );
    }
    let kept = heap.clone();
    drop(heap);
    drop((boxed, slice));
    assert_eq!((Arc::strong_count(&counted), kept.capacity_bytes()), (1, 0));
}

#[test]
fn alignment_is_kept_or_refused() {
    let heap = Heap::anonymous(1 << 20).unwrap();
    for bits in 0..=12 {
        let layout = Layout::from_size_align(24, 1 << bits).unwrap();
        let memory = heap.capacity(layout).unwrap();
        assert!(memory.addr().get().is_multiple_of(1 << bits));
    }
    let layout = Layout::from_size_align(24, 8192).unwrap();
    assert_eq!(heap.capacity(layout).unwrap_err().cause, Cause::Usage);
}
