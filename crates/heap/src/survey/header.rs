//! The header, as far as it can be read.

use super::Report;
use crate::error::{Error, Result};
use crate::journal;
use crate::layout::header;
use crate::medium::Medium;
use crate::pool::Pool;

/// Opens the pool on a medium after replaying its journal; `None` if the header is too damaged to
/// look at anything else. If the counts of chunks are wrong, all existing chunks are counted.
///
/// # Errors
///
/// What the report returns, or a fence failed.
pub(crate) fn open<M: Medium>(medium: M, report: &impl Report) -> Result<Option<Pool<M>>> {
    if medium.len() < header::BYTES {
        report.error(0, Error::damaged("this is no pool: it is too short"))?;
        return Ok(None);
    }
    let mut words = [0; header::WORDS];
    medium.load(0, bytemuck::cast_slice_mut(&mut words));
    let geometry = match header::decode(&words) {
        Ok(geometry) => geometry,
        Err(error) => return report.error(0, error).map(|()| None),
    };
    medium.secure()?;
    // All else may be older than its copy in the journal.
    if let Err(error) = journal::replay(&medium, &geometry) {
        report.error(header::JOURNAL_AT, error)?;
    }
    let (there, len) = (geometry.chunk_of(medium.len()), medium.len());
    let count = |at, otherwise| match header::decode_count(at, medium.load_word(at)) {
        Ok(count) => Ok(count),
        Err(error) => report.error(at, error).map(|()| otherwise),
    };
    let chunks = count(header::CHUNKS_AT, there)?;
    let used = count(header::USED_AT, chunks)?;
    if chunks > there {
        let needed = u128::from(chunks) << geometry.shift;
        let sentence = format!("the pool is truncated: it has {len} bytes of {needed}");
        report.error(header::CHUNKS_AT, Error::damaged(sentence))?;
    }
    if used > chunks {
        let sentence = format!("the pool's header is damaged: {used} of {chunks} chunks were used");
        report.error(header::USED_AT, Error::damaged(sentence))?;
    }
    let (chunks, used) = (chunks.min(there), used.min(chunks).min(there));
    let lanes = geometry.lane_chunks();
    if used <= lanes || lanes >= geometry.region_chunks() {
        let sentence = "the pool's header is damaged: the lanes are not in the pool";
        report.error(header::USED_AT, Error::damaged(sentence))?;
        return Ok(None);
    }
    Ok(Some(Pool::with(medium, geometry, chunks, used)))
}
