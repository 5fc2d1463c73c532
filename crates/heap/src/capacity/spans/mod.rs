//! The allocator: slots of one size in a chunk, or chunks of their own for what is large.
//!
//! A chunk belongs to the shard of the thread that took it; its slots go back there whichever
//! thread frees them, so memory that one thread allocates and another frees does not pile up. A
//! chunk without a slot in use is given back at once.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::span::{Span, What};
use crate::allocator::class::{MAX_CLASSES, class_of, slot_of};
use crate::lock::lock;

/// Number of shards, each with a lock.
const SHARDS: usize = 8;
/// Alignment of every allocation.
const UNIT: usize = 16;

/// A source of chunks.
pub(super) trait Chunks {
    /// Returns the first byte of chunk 0, aligned to [`align`](Chunks::align).
    fn base(&self) -> NonNull<u8>;

    /// Returns the largest alignment that can be requested.
    fn align(&self) -> usize;

    /// Returns the logarithm of the bytes of a chunk.
    fn shift(&self) -> u32;

    /// Returns a span for each chunk.
    fn spans(&self) -> &[Span];

    /// Takes `count` chunks in a row, never chunk 0; returns the first, or `None` if there are
    /// none.
    fn take(&self, count: usize) -> Option<usize>;

    /// Gives chunks back, whose spans are reset.
    fn give(&self, chunk: usize, count: usize);
}

/// The shards.
pub(super) struct Spans {
    shards: [Mutex<Shard>; SHARDS],
    /// Bytes of chunks that were taken and not given back.
    bytes: AtomicUsize,
}

/// For each class, the first chunk in a list of chunks with a free slot; 0 for none.
#[repr(align(128))]
struct Shard([u32; MAX_CLASSES]);

/// The chunk and the slot in which an address lies.
struct Place {
    chunk: usize,
    /// Bytes of the allocation.
    bytes: usize,
    what: What,
    slot: usize,
}

impl Spans {
    pub const fn new() -> Self {
        Self {
            shards: [const { Mutex::new(Shard([0; MAX_CLASSES])) }; SHARDS],
            bytes: AtomicUsize::new(0),
        }
    }

    /// Returns the bytes of all chunks in use.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Allocates at least `bytes`, with undefined contents; `align` is a power of two that the
    /// chunks allow.
    pub fn alloc<C: Chunks>(&self, chunks: &C, bytes: usize, align: usize) -> Option<NonNull<u8>> {
        debug_assert!(align.is_power_of_two() && align <= chunks.align());
        // A slot of a power of two is aligned to it, as far as the base is.
        let rounded = match align {
            0..=UNIT => bytes,
            _ => bytes.max(align).next_power_of_two(),
        };
        let chunk_bytes = 1 << chunks.shift();
        if rounded <= chunk_bytes / 2 {
            return self.alloc_small(chunks, class_of(rounded as u64));
        }
        let count = bytes.div_ceil(chunk_bytes).max(1);
        self.alloc_large(chunks, count, align >> chunks.shift())
    }

    fn alloc_small<C: Chunks>(&self, chunks: &C, class: usize) -> Option<NonNull<u8>> {
        let shard = this_shard();
        let mut heads = lock(&self.shards[shard]);
        let heads = &mut heads.0;
        if heads[class] == 0 {
            let chunk = self.take(chunks, 1)?;
            let span = &chunks.spans()[chunk];
            for field in [&span.used, &span.free, &span.fresh, &span.next, &span.prev] {
                field.set(0);
            }
            span.set(What::Small { class, shard });
            heads[class] = chunk as u32;
        }
        let chunk = heads[class] as usize;
        let span = &chunks.spans()[chunk];
        let (slot_bytes, chunk_bytes) = (slot_of(class) as usize, 1 << chunks.shift());
        let slot = match span.free.get() {
            0 => {
                span.fresh.set(span.fresh.get() + 1);
                span.fresh.get() - 1
            }
            freed => {
                let link = address(chunks, chunk, (freed - 1) as usize * slot_bytes);
                // SAFETY: the slot is free and owned through the lock; `free` has written its link.
                span.free.set(unsafe { link.cast::<u32>().read() });
                freed - 1
            }
        };
        span.used.set(span.used.get() + 1);
        if span.used.get() as usize == chunk_bytes / slot_bytes {
            unlink(chunks.spans(), &mut heads[class], chunk);
        }
        Some(address(chunks, chunk, slot as usize * slot_bytes))
    }

    /// Allocates whole chunks; `align` in chunks.
    #[cold]
    fn alloc_large<C: Chunks>(
        &self,
        chunks: &C,
        count: usize,
        align: usize,
    ) -> Option<NonNull<u8>> {
        let more = align.max(1) - 1;
        let first = self.take(chunks, count + more)?;
        let chunk = first.next_multiple_of(align.max(1));
        let (before, behind) = (chunk - first, first + more - chunk);
        for (at, len) in [(first, before), (chunk + count, behind)] {
            if len > 0 {
                self.give(chunks, at, len);
            }
        }
        let span = &chunks.spans()[chunk];
        span.len.set(count as u32);
        span.set(What::Large);
        Some(address(chunks, chunk, 0))
    }

    /// Gives memory back.
    ///
    /// # Safety
    ///
    /// The memory was allocated here, was not freed, and nothing uses it any more.
    pub unsafe fn free<C: Chunks>(&self, chunks: &C, memory: NonNull<u8>) {
        let Some(place) = place_of(chunks, memory) else {
            return;
        };
        let span = &chunks.spans()[place.chunk];
        let What::Small { class, shard } = place.what else {
            span.set(What::Nothing);
            return self.give(chunks, place.chunk, span.len.get() as usize);
        };
        let mut heads = lock(&self.shards[shard]);
        let head = &mut heads.0[class];
        // SAFETY: nothing uses the slot any more, and it has at least 16 bytes.
        unsafe { memory.cast::<u32>().write(span.free.get()) };
        span.free.set(place.slot as u32 + 1);
        let slots = (1 << chunks.shift()) / place.bytes;
        if span.used.get() as usize == slots {
            link(chunks.spans(), head, place.chunk);
        }
        span.used.set(span.used.get() - 1);
        if span.used.get() == 0 {
            unlink(chunks.spans(), head, place.chunk);
            span.set(What::Nothing);
            self.give(chunks, place.chunk, 1);
        }
    }

    /// Changes the size of memory, which may move; the contents are kept as far as they fit. On
    /// failure the old memory stays as it is.
    ///
    /// # Safety
    ///
    /// Same as [`Spans::free`].
    pub unsafe fn resize<C: Chunks>(
        &self,
        chunks: &C,
        memory: NonNull<u8>,
        bytes: usize,
        align: usize,
    ) -> Option<NonNull<u8>> {
        let old = place_of(chunks, memory).map_or(0, |place| place.bytes);
        let aligned = memory.addr().get().is_multiple_of(align);
        if aligned && bytes <= old && self.shrink(chunks, memory, bytes) {
            return Some(memory);
        }
        let new = self.alloc(chunks, bytes, align)?;
        // SAFETY: both have that many bytes, and the new memory is another one.
        unsafe { new.copy_from_nonoverlapping(memory, old.min(bytes)) };
        // SAFETY: promised by the caller.
        unsafe { self.free(chunks, memory) };
        Some(new)
    }

    /// Returns whether memory can stay in place for fewer bytes: at most half of it is wasted.
    fn shrink<C: Chunks>(&self, chunks: &C, memory: NonNull<u8>, bytes: usize) -> bool {
        let Some(place) = place_of(chunks, memory) else {
            return false;
        };
        let chunk_bytes = 1 << chunks.shift();
        if place.what != What::Large || bytes <= chunk_bytes / 2 {
            return bytes > place.bytes / 2 || place.bytes <= 2 * UNIT;
        }
        let span = &chunks.spans()[place.chunk];
        let (old, new) = (span.len.get() as usize, bytes.div_ceil(chunk_bytes));
        if new < old {
            span.len.set(new as u32);
            self.give(chunks, place.chunk + new, old - new);
        }
        true
    }

    /// Returns the bytes of the allocation that begins there; `None` if none does.
    pub fn size_of<C: Chunks>(&self, chunks: &C, memory: NonNull<u8>) -> Option<usize> {
        let place = place_of(chunks, memory)?;
        let begins = address(chunks, place.chunk, place.slot * place.bytes) == memory;
        begins.then_some(place.bytes)
    }

    fn take<C: Chunks>(&self, chunks: &C, count: usize) -> Option<usize> {
        let chunk = chunks.take(count)?;
        let bytes = count << chunks.shift();
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Some(chunk)
    }

    fn give<C: Chunks>(&self, chunks: &C, chunk: usize, count: usize) {
        let bytes = count << chunks.shift();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        chunks.give(chunk, count);
    }
}

#[inline]
fn address<C: Chunks>(chunks: &C, chunk: usize, within: usize) -> NonNull<u8> {
    // SAFETY: the chunk is one of these, so that its bytes are mapped.
    unsafe { chunks.base().add((chunk << chunks.shift()) + within) }
}

/// Returns where an address of this allocator lies.
#[inline]
fn place_of<C: Chunks>(chunks: &C, memory: NonNull<u8>) -> Option<Place> {
    let (base, at) = (chunks.base().addr().get(), memory.addr().get());
    let offset = at.checked_sub(base)?;
    let chunk = offset >> chunks.shift();
    let span = chunks.spans().get(chunk)?;
    let what = span.what();
    let (bytes, slot) = match what {
        What::Small { class, .. } => {
            let bytes = slot_of(class) as usize;
            (bytes, (offset - (chunk << chunks.shift())) / bytes)
        }
        What::Large => ((span.len.get() as usize) << chunks.shift(), 0),
        What::Nothing | What::Free => return None,
    };
    Some(Place {
        chunk,
        bytes,
        what,
        slot,
    })
}

/// Puts a chunk in front of a list.
pub(super) fn link(spans: &[Span], head: &mut u32, chunk: usize) {
    spans[chunk].prev.set(0);
    spans[chunk].next.set(*head);
    if *head != 0 {
        spans[*head as usize].prev.set(chunk as u32);
    }
    *head = chunk as u32;
}

/// Takes a chunk out of a list.
pub(super) fn unlink(spans: &[Span], head: &mut u32, chunk: usize) {
    let (prev, next) = (spans[chunk].prev.get(), spans[chunk].next.get());
    match prev {
        0 => *head = next,
        prev => spans[prev as usize].next.set(next),
    }
    if next != 0 {
        spans[next as usize].prev.set(prev);
    }
}

/// Returns the shard of this thread. Its thread-local state neither allocates nor is ever torn
/// down.
fn this_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(0) };
    }
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get() % SHARDS
    })
}

#[cfg(test)]
mod tests;
