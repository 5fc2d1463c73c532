//! Recovery: opens a pool, whether or not it was closed, finds what is in use, and repeats the last
//! operations of each lane (`FORMAT.md`, "Why recovery is right").

mod lanes;
mod undo;

use std::sync::atomic::AtomicU8;

use crate::allocator::index::Holds;
#[cfg(feature = "experiments")]
use crate::allocator::naive::Naive;
use crate::allocator::nvwa::Nvwa;
use crate::allocator::{Allocator, Found, Space};
use crate::error::Result;
use crate::lane::Lanes;
use crate::layout::chunk::Use;
use crate::layout::record::RECORD_BYTES;
use crate::layout::{AllocatorKind, Geometry};
use crate::lock::lock;
use crate::medium::Medium;
use crate::operation::{Core, WRITING};
use crate::pool::Pool;
use crate::survey::{self, First};

/// Recovers a pool; returns it with its chunks of roots.
///
/// # Errors
///
/// The pool is damaged, or a fence failed.
pub(crate) fn recover<M: Medium>(pool: Pool<M>) -> Result<(Core<M>, Vec<u64>)> {
    let allocator = allocator_of(&pool.geometry)?;
    let space = survey::space(pool);
    let chunks = survey::chunks::read(&space, &First)?;
    let found = survey::records::read(&space, &chunks, &First)?;
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
        state: AtomicU8::new(WRITING),
    };
    Ok((core, chunks.roots))
}

/// Returns the allocator of a pool, in its initial state.
///
/// # Errors
///
/// The program was built without this allocator.
fn allocator_of<M: Medium>(geometry: &Geometry) -> Result<Box<dyn Allocator<M>>> {
    match geometry.allocator {
        AllocatorKind::Nvwa => Ok(Box::new(Nvwa::new(geometry.chunk_bytes()))),
        #[cfg(feature = "experiments")]
        AllocatorKind::Naive => Ok(Box::new(Naive::new(geometry))),
        #[cfg(not(feature = "experiments"))]
        AllocatorKind::Naive => Err(crate::error::Error::usage(
            "the pool has the naive allocator, which is for measurements: open it with a program \
             that was built with the feature `experiments`",
        )),
    }
}

/// Enters free chunks and free places for records; returns the runs in use.
fn give_back<M: Medium>(
    space: &Space<M>,
    chunks: &survey::chunks::Chunks,
    places: Vec<Vec<u64>>,
) -> Result<Vec<u64>> {
    let (geometry, index) = (&space.pool.geometry, &space.index);
    let mut in_use = survey::chunks::in_use(space, chunks, &First)?;
    let empty = free_records(space, places)?;
    in_use.retain(|(chunk, _)| !empty.contains(chunk));
    in_use.push((1, geometry.lane_chunks()));
    in_use.extend(geometry.bins().map(|chunk| (chunk, 1)));
    let mut runs = Vec::new();
    for &chunk in &chunks.runs {
        let run = space.run(chunk);
        if run.free_slots() == run.slots() {
            index.remove(chunk, 1);
            continue;
        }
        runs.push(chunk);
    }
    for &chunk in &runs {
        let count = geometry.chunk_of(space.run(chunk).slot_bytes()).max(1);
        index.cover(chunk, count);
        index.set_holds(chunk, count, Holds::Objects);
    }
    for &chunk in &chunks.roots {
        index.set_holds(chunk, 1, Holds::Roots);
    }
    free_between(space, 1, space.pool.chunks(), &in_use);
    Ok(runs)
}

/// Frees chunks of records that hold none, and returns them; the free places of the others are
/// spare.
fn free_records<M: Medium>(space: &Space<M>, places: Vec<Vec<u64>>) -> Result<Vec<u64>> {
    let geometry = &space.pool.geometry;
    let all = geometry.chunk_bytes() / RECORD_BYTES;
    let is_empty = |places: &Vec<u64>| places.len() as u64 == all;
    let (empty, spare): (Vec<_>, Vec<_>) = places.into_iter().partition(is_empty);
    let chunk_of = |places: &Vec<u64>| geometry.chunk_of(places[0]);
    let empty: Vec<u64> = empty.iter().map(chunk_of).collect();
    for &chunk in &empty {
        space.pool.set_use(chunk, Use::Free);
    }
    if !empty.is_empty() {
        space.pool.medium.fence()?;
    }
    *lock(&space.spare_records) = spare;
    Ok(empty)
}

/// Gives back all chunks of a pool, from `first` to before `end`, that are neither in use nor
/// tables.
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
