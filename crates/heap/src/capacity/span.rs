//! Spans: the state of each chunk, and the table of them.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::medium::reservation::{PAGE_BYTES, Reservation};

/// The state of one chunk, or of several that belong together under the first.
///
/// All zeros for an unknown chunk. Each field says who may change it; being atomic costs nothing
/// and needs no `unsafe`.
#[derive(Default)]
#[repr(C)]
pub(super) struct Span {
    /// What the chunk is, packed. Changed by the owner of the chunk, and stable while memory in it
    /// is allocated.
    what: AtomicU32,
    /// Slots in use (under the lock of its shard). Of the last chunk of a free extent: its length
    /// (under the lock of the extents).
    pub used: Field,
    /// The slot that was freed last, plus 1; it names the next one. Under the lock of its shard.
    pub free: Field,
    /// The first slot that was never used. Under the lock of its shard.
    pub fresh: Field,
    /// Neighbours in a list: of spans with room, or of free extents. 0 is none.
    pub next: Field,
    pub prev: Field,
    /// Chunks, of a large allocation or of a free extent.
    pub len: Field,
    _filled: u32,
}

/// A number that is changed only under the same lock.
#[derive(Default)]
#[repr(transparent)]
pub(super) struct Field(AtomicU32);

impl Field {
    pub fn get(&self) -> u32 {
        self.0.load(Relaxed)
    }

    pub fn set(&self, value: u32) {
        self.0.store(value, Relaxed);
    }
}

/// Kinds of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Unknown, or neither the first nor the last chunk of anything.
    Nothing,
    /// Slots of one class; the shard is that of the thread that took the chunk.
    Small { class: usize, shard: usize },
    /// The first chunk of a large allocation.
    Large,
    /// The first or last chunk of a free extent.
    Free,
}

impl Span {
    #[inline]
    pub fn what(&self) -> What {
        let word = self.what.load(Relaxed);
        match word & 3 {
            1 => What::Small {
                class: (word >> 8 & 0xff) as usize,
                shard: (word >> 16) as usize,
            },
            2 => What::Large,
            3 => What::Free,
            _ => What::Nothing,
        }
    }

    pub fn set(&self, what: What) {
        let word = match what {
            What::Nothing => 0,
            What::Small { class, shard } => 1 | (class as u32) << 8 | (shard as u32) << 16,
            What::Large => 2,
            What::Free => 3,
        };
        self.what.store(word, Relaxed);
    }
}

/// A span for each chunk. Pages of the table get memory when they are touched.
pub(super) struct Table {
    memory: Reservation,
    spans: usize,
}

impl Table {
    /// Returns a table for `count` chunks.
    pub fn new(chunks: usize) -> io::Result<Self> {
        let len = (chunks * size_of::<Span>()) as u64;
        let memory = Reservation::new(len.next_multiple_of(PAGE_BYTES))?;
        memory.map_unreserved(0..memory.len())?;
        Ok(Self {
            memory,
            spans: chunks,
        })
    }

    #[inline]
    pub fn spans(&self) -> &[Span] {
        let first = self.memory.base().cast::<Span>();
        // SAFETY: mapped for that many spans, all zeros, which are valid; all fields are atomic.
        unsafe { std::slice::from_raw_parts(first, self.spans) }
    }
}
