use std::sync::Arc;

use super::*;
use crate::medium::simulated::{Granule, Simulated};
use crate::{AllocatorKind, Options, Place};

fn create(allocator: AllocatorKind) -> (Arc<Simulated>, Heap<Arc<Simulated>>) {
    let pool = Arc::new(Simulated::new(256 << 10, Granule::Line));
    let options = Options::default()
        .chunk_bytes(4096)
        .lanes(2)
        .allocator(allocator);
    let heap = Heap::make_on(Arc::clone(&pool), &options).unwrap();
    (pool, heap)
}

#[test]
fn capacity_is_gone_when_the_pool_is_opened_again_and_objects_are_not() {
    for allocator in [AllocatorKind::Nvwa, AllocatorKind::Naive] {
        let (pool, heap) = create(allocator);
        let place: Place<[u64; 8]> = heap.root("place", 0).unwrap();
        let mut object = heap.publish(place, &[7; 8]).unwrap();
        let free = heap.core().space.chunks.count();
        for round in 0..50 {
            let memory = heap.capacity_alloc(100 * round).unwrap().cast::<u8>();
            // SAFETY: ours.
            unsafe { memory.write_bytes(0xff, 100 * round) };
            heap.free(place).unwrap();
            object = heap.publish(place, &[round as u64; 8]).unwrap();
        }
        assert!(heap.core().space.chunks.count() < free - 20);
        // As it is after a crash that has written back every line, and as it is without one.
        let crashed = pool.bytes();
        drop(heap);
        for bytes in [crashed, pool.bytes()] {
            let medium = Arc::new(Simulated::from_bytes(&bytes, Granule::Line));
            let heap = crate::heap::open_on(medium).unwrap();
            assert_eq!(heap.core().space.chunks.count(), free);
            assert_eq!(heap.read(object), Ok([49; 8]));
            assert_eq!(heap.objects().unwrap().len(), 1);
        }
    }
}

#[test]
fn more_than_there_can_be_is_refused() {
    let (_pool, heap) = create(AllocatorKind::Nvwa);
    for bytes in [usize::MAX, 1 << 63, 1 << 60, 1 << 40] {
        let error = heap.capacity_alloc(bytes).unwrap_err();
        assert_eq!(error.cause(), Cause::Usage, "{error}");
    }
    assert_eq!(
        heap.capacity_alloc(250 << 10).unwrap_err().cause(),
        Cause::Full
    );
}

#[test]
fn nothing_is_stored_flushed_or_fenced_for_slots() {
    let (_pool, heap) = create(AllocatorKind::Nvwa);
    let first = heap.capacity_alloc(64).unwrap().cast();
    let before = heap.counts();
    for _ in 0..60 {
        let memory = heap.capacity_alloc(64).unwrap().cast();
        // SAFETY: ours, and freed once.
        unsafe { heap.capacity_free(memory).unwrap() };
    }
    assert_eq!(heap.counts(), before);
    // SAFETY: ours, and freed once.
    unsafe { heap.capacity_free(first).unwrap() };
    // SAFETY: it is refused.
    let error = unsafe { heap.capacity_free(first) }.unwrap_err();
    assert_eq!(error.cause(), Cause::Usage);
}

#[test]
fn both_uses_share_what_there_is() {
    let (_pool, heap) = create(AllocatorKind::Nvwa);
    let place: Place<[u64; 1024]> = heap.root("place", 0).unwrap();
    let mut all: Vec<_> = (0..)
        .map_while(|_| heap.capacity_alloc(3000).ok())
        .collect();
    assert!(all.len() > 50);
    assert_eq!(
        heap.publish(place, &[1; 1024]).unwrap_err().cause(),
        Cause::Full
    );
    for memory in all.drain(..) {
        // SAFETY: ours, and freed once.
        unsafe { heap.capacity_free(memory.cast()).unwrap() };
    }
    heap.publish(place, &[1; 1024]).unwrap();
    heap.free(place).unwrap();
    heap.set(heap.root::<u8>("word", 0).unwrap().cast(), 1)
        .unwrap();
    heap.set(heap.root::<u8>("word", 0).unwrap().cast(), 2)
        .unwrap();
    let large = heap.capacity_alloc(150_000).unwrap().cast();
    // SAFETY: ours, and freed once.
    unsafe { heap.capacity_free(large).unwrap() };
}

#[test]
fn values_are_dropped_and_slices_grow() {
    let heap = Heap::anonymous(8 << 20).unwrap();
    let free = heap.usage().unwrap().free;
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
    assert_eq!(Arc::strong_count(&counted), 1);
    // Chunks of the two small classes stay with the lane that may want them again.
    assert!(kept.usage().unwrap().free + (2 << 16) >= free);
}

#[test]
fn memory_that_grows_or_shrinks_keeps_what_it_holds() {
    let heap = Heap::anonymous(8 << 20).unwrap();
    let mut memory = heap.capacity_alloc(8).unwrap().cast::<u8>();
    let mut held = 8;
    // SAFETY: ours, and as large as was asked for.
    unsafe { memory.write_bytes(7, held) };
    for bytes in [9, 100, 60, 61, 5000, 200_000, 100_000, 30] {
        // SAFETY: same as above.
        unsafe {
            memory = heap.capacity_resize(memory, bytes).unwrap().cast();
            let kept = std::slice::from_raw_parts(memory.as_ptr(), held.min(bytes));
            assert!(kept.iter().all(|&byte| byte == 7));
            memory.write_bytes(7, bytes);
        }
        held = bytes;
    }
    // SAFETY: it is refused.
    let wrong = unsafe { heap.capacity_resize(memory.map_addr(|at| at | 8), 50) };
    assert_eq!(wrong.unwrap_err().cause(), Cause::Usage);
}

#[test]
fn alignment_is_kept_or_refused() {
    #[repr(align(4096))]
    struct Page(u8);
    #[repr(align(64))]
    struct Line(u8);
    #[repr(align(8192))]
    struct TooMuch;
    let heap = Heap::anonymous(1 << 20).unwrap();
    let mut kept = Vec::new();
    for round in 0..5 {
        let (page, line) = (
            heap.capacity_box(Page(round)),
            heap.capacity_box(Line(round)),
        );
        let (page, line) = (page.unwrap(), line.unwrap());
        assert!((&raw const *page).addr().is_multiple_of(4096) && page.0 == round);
        assert!((&raw const *line).addr().is_multiple_of(64) && line.0 == round);
        kept.push((page, line));
    }
    let refused = heap.capacity_box(TooMuch).err().expect("it is refused");
    assert_eq!(refused.cause(), Cause::Usage);
}
