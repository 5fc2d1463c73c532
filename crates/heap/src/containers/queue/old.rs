//! Queues of format versions 1 and 2, which are converted to version 3 when they are opened.
//!
//! The head is an object of 64 bytes: magic, bytes of an element and elements of a segment, the
//! numbers of elements ever popped and ever pushed, and pointers to the first and the last segment.
//! A segment is a pointer to the next one and, from the next line on, its elements, each filled to
//! a whole word. Element `n` of all elements ever pushed is in slot `n` modulo the slots of a
//! segment.

use crate::error::{Result, ensure};
use crate::medium::LINE_BYTES;
use crate::sink::Sink;

use super::super::data::Value;
use super::super::types::Types;
use super::layout::HEAD_WORDS;
use super::log::{Log, damaged};

/// "TERRQUEU", the magic number of format versions 1 and 2.
const MAGIC: u64 = u64::from_le_bytes(*b"TERRQUEU");

/// Returns the bytes of an element of an old queue, if the head is that of one.
pub(super) fn size(head: &[u64; HEAD_WORDS]) -> Option<u64> {
    (head[0] == MAGIC).then_some(u64::from(head[1] as u32))
}

/// Makes a queue with the same elements, and frees the old one; returns the offset of the new head.
///
/// # Errors
///
/// The queue is damaged, the pool is full, or a fence failed.
pub(super) fn convert<T: Value + ?Sized, S: Sink>(
    sink: &mut S,
    old: u64,
    types: &Types,
    new: impl FnOnce(u64) -> Log,
) -> Result<u64> {
    let [_, shape, popped, pushed, first, ..] = sink.words::<HEAD_WORDS>(old)?;
    let (bytes, slots) = (u64::from(shape as u32), shape >> 32);
    let stride = bytes.next_multiple_of(8);
    ensure(
        slots > 0 && popped <= pushed && pushed - popped <= sink.bytes() / stride.max(1),
        damaged,
    )?;
    let head = sink.make_words(&Log::new_head::<T>(types))?;
    let log = new(head);
    let mut segment = first;
    // The last element of the first segment may have been removed, but not yet the segment.
    let mut begun = popped > 0 && popped.is_multiple_of(slots);
    for number in popped..pushed {
        if begun || number > popped && number.is_multiple_of(slots) {
            segment = sink.word(segment)?;
            ensure(segment != 0, damaged)?;
            begun = false;
        }
        let at = segment.saturating_add(LINE_BYTES + number % slots * stride);
        let mut value = vec![0; bytes as usize];
        sink.load_bytes(at, &mut value)?;
        log.push(sink, &value)?;
    }
    let mut segment = first;
    let mut freed = 0;
    while segment != 0 {
        let next = sink.word(segment)?;
        sink.free(segment)?;
        segment = next;
        freed += 1;
        ensure(freed <= sink.bytes() / LINE_BYTES, damaged)?;
    }
    sink.free(old)?;
    Ok(head)
}
