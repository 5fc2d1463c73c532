//! Objects of whole chunks: the word about the first chunk is all that the pool has to say of them.

use super::run::Run;
use super::{Room, Space};
use crate::error::Result;
use crate::layout::chunk::Use;
use crate::medium::Medium;

/// Takes chunks for one object, or for memory that is gone when the pool is closed: `capacity`.
///
/// # Errors
///
/// There are none, or a fence failed.
pub(super) fn reserve<M: Medium>(space: &Space<M>, bytes: u64, capacity: bool) -> Result<Room> {
    let geometry = &space.pool.geometry;
    let chunks = bytes.div_ceil(geometry.chunk_bytes());
    let of = match capacity {
        true => Use::Free,
        false => Use::Large { chunks },
    };
    let taken = space.chunks.take(&space.pool, chunks, of)?;
    let offset = geometry.offset_of(taken.chunk);
    let bytes = geometry.offset_of(chunks);
    let mut run = Run::large(offset, bytes);
    run.capacity = capacity;
    run.take(0);
    space.index.insert(taken.chunk, run);
    let fresh = taken.fresh;
    Ok(Room {
        offset,
        bytes,
        fresh,
    })
}

/// Gives the chunks of an object back that is no longer in use.
pub(super) fn release<M: Medium>(space: &Space<M>, chunk: u64, bytes: u64) {
    let chunks = space.pool.geometry.chunk_of(bytes);
    // SAFETY: the object is no longer in use, and it was the run's only one.
    unsafe { space.index.remove(chunk) };
    space.chunks.give(&space.pool, chunk, chunks);
}
