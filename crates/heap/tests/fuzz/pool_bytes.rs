//! Any bytes as a pool, and pools with changes: whatever looks at them answers, or says what is
//! wrong.

use std::sync::{Arc, LazyLock};

use terrace_heap::containers::{BTreeMap, HashMap, Queue, Vector};
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{AllocatorKind, Error, Hint, Options, Place, Ptr, use_lane};

use crate::common::{Memory, TestHeap, create, options};
use crate::damage::damage;
use crate::input::Input;
use crate::look::look;

const POOL_BYTES: u64 = 48 * 4096;

/// Pools to change: one that was closed, one that was left as it was, one with a journal, one of
/// the naive allocator, and one that a crash has left within a commit.
static POOLS: LazyLock<[Vec<u8>; 5]> = LazyLock::new(|| {
    let new = || Simulated::new(POOL_BYTES, Granule::Line);
    let closed = {
        let (medium, heap) = made(new(), options(3));
        drop(heap);
        medium.bytes()
    };
    let (left, _heap) = made(new(), options(3));
    let (journaled, _heap) = made(new().writing_pages(), options(3));
    let journaled = journaled.crash_images(1, 1).next();
    let naive = options(3).allocator(AllocatorKind::Naive);
    let (naive, _heap) = made(new(), naive);
    let (crashed, heap) = made(new(), options(3));
    let after = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&after);
    crashed.at_fence(move |memory| *kept.lock().unwrap() = memory.bytes());
    heap.transaction(|tx| change_list(&heap, tx, 20)).unwrap();
    let crashed = std::mem::take(&mut *after.lock().unwrap());
    let journaled = journaled.expect("a crash leaves something").bytes();
    [closed, left.bytes(), journaled, naive.bytes(), crashed]
});

/// Looks at a pool that the input says.
pub fn pool_bytes(data: &[u8]) {
    let mut input = Input::new(data);
    let which = usize::from(input.byte() % 8);
    match POOLS.get(which) {
        None => look(input.rest()),
        Some(pool) => {
            let mut pool = pool.clone();
            damage(&mut pool, &mut input);
            look(&pool);
        }
    }
}

fn made(medium: Simulated, options: Options) -> (Memory, TestHeap) {
    let medium = Arc::new(medium);
    let heap = create(Arc::clone(&medium), &options);
    fill(&heap).expect("there is room");
    (medium, heap)
}

/// Containers of all kinds, a list, and an object of more than a chunk, in all lanes.
fn fill(heap: &TestHeap) -> Result<(), Error> {
    let numbers = HashMap::<u64, u64, _>::open_with_capacity(heap, "numbers", 1)?;
    let words = HashMap::<[u8], [u8], _>::open_with_capacity(heap, "words", 1)?;
    let ordered = BTreeMap::<u64, [u64; 3], _>::open(heap, "ordered")?;
    let texts = BTreeMap::<[u8], [u8], _>::open(heap, "texts")?;
    let queue = Queue::<[u8], _>::open(heap, "queue")?;
    let vector = Vector::<[u64; 3], _>::open(heap, "vector")?;
    for i in 0..30 {
        use_lane(i as usize % 3);
        let text = [i as u8; 40];
        numbers.insert(&i, &i)?;
        words.insert(&text[..i as usize], &text)?;
        ordered.insert(&(i * 7 % 30), &[i; 3])?;
        texts.insert(&text[..i as usize], &text[i as usize..])?;
        queue.push(&text[..i as usize])?;
        vector.push(&[i; 3])?;
        if i % 3 == 0 {
            numbers.remove(&(i / 2))?;
            ordered.remove(&(i / 2))?;
            queue.pop()?;
        }
    }
    texts.insert(b"long", &[7; 3000])?;
    let mut place: Place<[u64; 6]> = heap.root("list", 1)?;
    for i in 0..6 {
        use_lane(i as usize % 3);
        place = heap.publish(place, &[0, i, 1, 2, 3, 4])?.field(0);
    }
    let large: Place<[u64; 1200]> = heap.root("large", 2)?;
    heap.publish(large, &[5; 1200])?;
    heap.transaction(|tx| change_list(heap, tx, 10))
}

fn change_list(
    heap: &TestHeap,
    tx: &terrace_heap::Transaction<Memory>,
    value: u64,
) -> Result<(), Error> {
    let first: Ptr<[u64; 6]> = heap.read(heap.root("list", 1)?)?;
    tx.write_with(first.field::<[u64; 4]>(8), &[value; 4], Hint::Object)?;
    tx.set(first.field(40), value)?;
    let place: Place<[u64; 6]> = heap.root("new", 0)?;
    let old = tx.read(place)?;
    if !old.is_null() {
        tx.free(old)?;
    }
    tx.write(place, &tx.alloc(&[value; 6])?)
}
