//! Room for the journal.

use crate::error::{Cause, Result};
use crate::journal::chunks_for;
use crate::layout::chunk::Use;
use crate::medium::Medium;

use super::Space;

impl<M: Medium> Space<M> {
    /// Writes flushed lines to a journal from now on where that is faster, if there is room for a
    /// journal. Everything that was flushed is durable, and no other thread stores meanwhile.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn begin_journal(&self) -> Result<()> {
        let pool = &self.pool;
        let geometry = &pool.geometry;
        let chunks = chunks_for(geometry, pool.chunks());
        if chunks == 0 || !pool.medium.writes_pages() {
            return Ok(());
        }
        let taken = match self.chunks.take(pool, chunks, Use::Journal { chunks }) {
            Err(error) if error.cause() == Cause::Full => return Ok(()),
            taken => taken?,
        };
        if taken.fresh {
            // The first write to a block of a file takes longer.
            let at = geometry.offset_of(taken.chunk);
            pool.zero(at, geometry.offset_of(chunks));
            pool.medium.fence()?;
        }
        pool.medium.begin(geometry, taken.chunk, chunks)
    }
}
