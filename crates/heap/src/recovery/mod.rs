//! Opens a pool that was closed, or not: finds what is in use, and carries out the last operations
//! of each lane once more (`FORMAT.md`, "Why recovery is right").

mod lanes;
mod scan;

use std::sync::Mutex;

use crate::allocator::chunks::Chunks;
use crate::allocator::index::Index;
use crate::allocator::nvwa::Nvwa;
use crate::allocator::{Allocator, Found, Space};
use crate::error::Result;
use crate::lane::Lanes;
use crate::layout::chunk::Use;
use crate::layout::record::RECORD_BYTES;
use crate::lock::lock;
use crate::medium::Medium;
use crate::operation::Core;
use crate::pool::Pool;

/// The space of a pool of which nothing is known yet.
pub(crate) fn space<M: Medium>(pool: Pool<M>) -> Space<M> {
    let max = pool.geometry.chunk_of(pool.medium.max_len());
    Space {
        pool,
        chunks: Chunks::default(),
        index: Index::new(max),
        spare_records: Mutex::default(),
    }
}

/// Recovers a pool. `allocator` is one that knows nothing yet.
///
/// # Errors
///
/// The pool is damaged, or a fence failed.
pub(crate) fn recover<M: Medium>(
    pool: Pool<M>,
    allocator: Box<dyn Allocator<M>>,
) -> Result<(Core<M>, Vec<u64>)> {
    let space = space(pool);
    let chunks = scan::chunks(&space)?;
    let found = scan::records(&space, &chunks.records, &chunks.runs)?;
    let recovered = lanes::recover(&space, &found.last)?;
    let runs = give_back(&space, &chunks, found.places)?;
    let headers = chunks.headers;
    allocator.recover(&space, &Found { runs, headers })?;
    if !recovered.places.is_empty() {
        lock(&space.spare_records).push(recovered.places);
    }
    let core = Core {
        capacity: Nvwa::for_capacity(space.pool.geometry.chunk_bytes()),
        space,
        allocator,
        lanes: Lanes::new(recovered.settled),
    };
    Ok((core, chunks.roots))
}

/// Says what is free: chunks, places for records. What is left are the runs in use.
fn give_back<M: Medium>(
    space: &Space<M>,
    chunks: &scan::Chunks,
    places: Vec<Vec<u64>>,
) -> Result<Vec<u64>> {
    let geometry = &space.pool.geometry;
    let mut in_use: Vec<(u64, u64)> = vec![(1, geometry.lane_chunks())];
    in_use.extend(geometry.bins().map(|chunk| (chunk, 1)));
    let single = chunks.roots.iter().chain(&chunks.headers);
    in_use.extend(single.map(|&chunk| (chunk, 1)));
    in_use.extend(keep_records(space, &chunks.records, places)?);
    let mut runs = Vec::new();
    for &chunk in &chunks.runs {
        let run = space.index.get(chunk).expect("the scan made it");
        if run.free_slots() == run.slots() {
            // SAFETY: nothing of it is in use, and nobody else knows this pool yet.
            unsafe { space.index.remove(chunk) };
            continue;
        }
        in_use.push((chunk, geometry.chunk_of(run.slot_bytes()).max(1)));
        runs.push(chunk);
    }
    in_use.sort_unstable();
    lanes::disjoint(&in_use)?;
    free_between(space, 1, space.pool.chunks(), &in_use);
    Ok(runs)
}

/// Which chunks of records are still needed: those with a record. The others are made free, and
/// the places of the former are spare.
fn keep_records<M: Medium>(
    space: &Space<M>,
    chunks: &[u64],
    places: Vec<Vec<u64>>,
) -> Result<Vec<(u64, u64)>> {
    let geometry = &space.pool.geometry;
    let all = geometry.chunk_bytes() / RECORD_BYTES;
    let chunk_of = |places: &[u64]| geometry.chunk_of(places[0]);
    let (empty, spare): (Vec<_>, Vec<_>) = places
        .into_iter()
        .partition(|places| places.len() as u64 == all);
    for places in &empty {
        space.pool.set_use(chunk_of(places), Use::Free);
    }
    if !empty.is_empty() {
        space.pool.medium.fence()?;
    }
    let empty: Vec<u64> = empty.iter().map(|places| chunk_of(places)).collect();
    *lock(&space.spare_records) = spare;
    let kept = chunks.iter().filter(|chunk| !empty.contains(chunk));
    Ok(kept.map(|&chunk| (chunk, 1)).collect())
}

/// Gives all chunks of a pool back, from `first` to before `end`, that are not in use, nor tables.
pub(crate) fn free_between<M: Medium>(
    space: &Space<M>,
    first: u64,
    end: u64,
    in_use: &[(u64, u64)],
) {
    let region = space.pool.geometry.region_chunks();
    let tables = (first.next_multiple_of(region)..end).step_by(region as usize);
    let mut busy: Vec<(u64, u64)> = tables.map(|chunk| (chunk, 1)).collect();
    busy.extend_from_slice(in_use);
    busy.sort_unstable();
    let mut at = first;
    for (chunk, count) in busy.into_iter().chain([(end, 0)]) {
        if chunk > at {
            space.chunks.give(&space.pool, at, chunk - at);
        }
        at = at.max(chunk + count);
    }
}
