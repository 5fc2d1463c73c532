//! Objects of whole chunks: all that the pool stores about their room is the word about the first
//! chunk.

use super::index::Holds;
use super::run::Run;
use super::{Room, Space};
use crate::error::Result;
use crate::layout::chunk::Use;
use crate::medium::Medium;

/// Takes chunks for one object.
///
/// # Errors
///
/// There are not that many in a row, or a fence failed.
pub(super) fn reserve<M: Medium>(space: &Space<M>, bytes: u64) -> Result<Room> {
    let geometry = &space.pool.geometry;
    let chunks = bytes.div_ceil(geometry.chunk_bytes());
    let of = Use::Large { chunks };
    let taken = space.chunks.take(&space.pool, chunks, of)?;
    let offset = geometry.offset_of(taken.chunk);
    let bytes = geometry.offset_of(chunks);
    let run = Run::large(offset, bytes);
    run.take(0);
    space.index.insert(taken.chunk, chunks, run);
    space.index.set_holds(taken.chunk, chunks, Holds::Objects);
    Ok(Room {
        offset,
        bytes,
        fresh: taken.fresh,
    })
}

/// Gives back the chunks of an object that is no longer in use.
pub(super) fn release<M: Medium>(space: &Space<M>, chunk: u64, bytes: u64) {
    let chunks = space.pool.geometry.chunk_of(bytes);
    space.index.remove(chunk, chunks);
    space.chunks.give(&space.pool, chunk, chunks);
}
