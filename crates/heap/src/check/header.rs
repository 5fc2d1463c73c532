//! The header, as far as it can be read.

use super::Findings;
use crate::journal;
use crate::layout::header;
use crate::medium::Medium;
use crate::pool::Pool;

/// The pool on a medium. Where counts of chunks are wrong, all chunks that are there are looked at;
/// without the words before them nothing can be.
pub(crate) fn open<M: Medium>(medium: M, findings: &mut Findings) -> Option<Pool<M>> {
    if medium.len() < header::BYTES {
        findings.add(0, "there is no pool: it is too short");
        return None;
    }
    let mut words = [0; header::WORDS];
    medium.load(0, bytemuck::cast_slice_mut(&mut words));
    let geometry = header::decode(&words)
        .map_err(|error| findings.error(0, &error))
        .ok()?;
    if let Err(error) = journal::replay(&medium, &geometry) {
        findings.error(header::JOURNAL_AT, &error);
    }
    let there = geometry.chunk_of(medium.len());
    let mut count = |at, otherwise| {
        let count = header::decode_count(at, medium.load_word(at));
        count.unwrap_or_else(|error| {
            findings.error(at, &error);
            otherwise
        })
    };
    let chunks = count(header::CHUNKS_AT, there);
    let used = count(header::USED_AT, chunks);
    if chunks > there {
        findings.add(
            header::CHUNKS_AT,
            format!(
                "the pool is said to have {chunks} chunks, and {there} are there: it is truncated"
            ),
        );
    }
    if used > chunks {
        findings.add(
            header::USED_AT,
            format!("{used} chunks are said to have been used of {chunks}"),
        );
    }
    let (chunks, used) = (chunks.min(there), used.min(chunks).min(there));
    let lanes = geometry.lane_chunks();
    if used <= lanes || lanes >= geometry.region_chunks() {
        findings.add(header::USED_AT, "the lanes are not in the pool");
        return None;
    }
    Some(Pool::with(medium, geometry, chunks, used))
}
