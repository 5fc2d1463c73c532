//! What all tests need of heaps on simulated memories.
#![allow(dead_code, reason = "no test needs all of it")]

use std::sync::Arc;

use terrace_heap::medium::simulated::Simulated;
use terrace_heap::{Heap, Medium, Options, Result};

/// A simulated memory that a test can look at while a heap lies on it.
pub type Memory = Arc<Simulated>;
/// The heap under test.
pub type TestHeap = Heap<Memory>;

/// Small chunks, so that little room is much, and hashes that are the same in each run.
pub fn options(lanes: u16) -> Options {
    Options::default()
        .chunk_bytes(4096)
        .lanes(lanes)
        .hash_seed(1)
}

/// A new heap on a medium.
pub fn create<M: Medium>(medium: M, options: &Options) -> Heap<M> {
    // SAFETY: tests only look at it as long as the heap is open.
    unsafe { Heap::create_on(medium, options) }.unwrap()
}

/// The heap on a medium.
pub fn open<M: Medium>(medium: M) -> Result<Heap<M>> {
    // SAFETY: as above.
    unsafe { Heap::open_on(medium) }
}

/// The offsets of all objects in use.
pub fn used<M: Medium>(heap: &Heap<M>) -> Vec<u64> {
    heap.objects()
        .unwrap()
        .iter()
        .map(|object| object.offset)
        .collect()
}
