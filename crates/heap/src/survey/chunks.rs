//! The words about chunks: the first level of the allocation log.

use super::Report;
use crate::allocator::Space;
use crate::allocator::class::Classes;
use crate::allocator::run::Run;
use crate::error::Result;
use crate::layout::chunk::Use;
use crate::medium::Medium;
use crate::pool::Pool;

use super::threads::{on_each, threads_for};

/// What chunks are used for.
#[derive(Default)]
pub(crate) struct Chunks {
    /// Chunks of records.
    pub records: Vec<u64>,
    /// Chunks of roots.
    pub roots: Vec<u64>,
    /// Chunks of the naive allocator's headers.
    pub headers: Vec<u64>,
    /// First chunks of runs and large objects. The index has them with all slots still free, and
    /// only under their first chunk: runs with nothing in use may overlap.
    pub runs: Vec<u64>,
}

/// A chunk with which a run or a large object begins, the bytes of a slot or of the object, and
/// whether it is a large object.
type Cut = (u64, u64, bool);

/// Reads the words of all chunks that were ever used, and makes runs of those that hold objects.
///
/// # Errors
///
/// What the report returns.
pub(crate) fn read<M: Medium>(space: &Space<M>, report: &impl Report) -> Result<Chunks> {
    let pool = &space.pool;
    let geometry = &pool.geometry;
    let mut found = Chunks::default();
    let mut cuts = Vec::new();
    for chunk in (1..pool.used()).filter(|&chunk| !geometry.is_table(chunk)) {
        let at = geometry.word_of(chunk);
        let added = match pool.use_of(chunk) {
            Ok(of) => found.add(pool, &mut cuts, chunk, of),
            Err(_) => Err("is damaged".into()),
        };
        if let Err(what) = added {
            report.wrong(at, format!("the word about chunk {chunk} {what}"))?;
        }
    }
    found.runs = cuts.iter().map(|&(chunk, ..)| chunk).collect();
    on_each(&cuts, threads_for(cuts.len()), |&(chunk, bytes, large)| {
        let first = geometry.offset_of(chunk);
        let run = match large {
            true => Run::large(first, bytes),
            false => Run::of_slots(first, bytes, geometry.chunk_bytes()),
        };
        space.index.insert(chunk, 1, run);
    });
    Ok(found)
}

impl Chunks {
    /// Adds a chunk, or returns what is wrong with its use.
    fn add<M: Medium>(
        &mut self,
        pool: &Pool<M>,
        cuts: &mut Vec<Cut>,
        chunk: u64,
        of: Use,
    ) -> std::result::Result<(), String> {
        let geometry = &pool.geometry;
        expect_wanted(pool, chunk, of)?;
        let extends = |count: u64| {
            let end = chunk % geometry.region_chunks() + count;
            let there = chunk + count <= pool.chunks() && end <= geometry.region_chunks();
            let what = "says that it is used for more than there is";
            there.then_some(count).ok_or(what)
        };
        let mut cut = |bytes, large| cuts.push((chunk, bytes, large));
        match of {
            Use::Run { slot } if !Classes::new(geometry.chunk_bytes()).has(slot) => {
                return Err(format!(
                    "says that it has slots of {slot} bytes, which is no class"
                ));
            }
            Use::Run { slot } => cut(slot, false),
            Use::Large { chunks } => cut(geometry.offset_of(extends(chunks)?), true),
            Use::Log { lane, .. } if lane >= geometry.lanes => {
                return Err(format!(
                    "says that it is a log of lane {lane}, of {}",
                    geometry.lanes
                ));
            }
            Use::Log { chunks, .. } | Use::Journal { chunks } => drop(extends(chunks)?),
            Use::Records => self.records.push(chunk),
            Use::Roots => self.roots.push(chunk),
            Use::Headers => self.headers.push(chunk),
            Use::Free | Use::Lanes { .. } | Use::Bins => {}
        }
        Ok(())
    }
}

/// Checks that the words about the lanes and bins name their places, and no others do.
fn expect_wanted<M: Medium>(
    pool: &Pool<M>,
    chunk: u64,
    of: Use,
) -> std::result::Result<(), String> {
    let geometry = &pool.geometry;
    let lanes = geometry.lane_chunks();
    let wanted = match chunk {
        1 => Some(Use::Lanes { chunks: lanes }),
        _ if chunk <= lanes => Some(Use::Free),
        _ => (geometry.bins() == Some(chunk)).then_some(Use::Bins),
    };
    match (wanted, of) {
        (Some(wanted), of) if wanted == of => Ok(()),
        (Some(Use::Bins), _) => Err("does not say that the allocator's bins are there".into()),
        (Some(_), _) => Err("does not say that the lanes are there".into()),
        (None, Use::Lanes { .. }) => Err("says that the lanes are there".into()),
        (None, Use::Bins) => Err("says that the allocator's bins are there".into()),
        (None, _) => Ok(()),
    }
}

/// Checks that each chunk in use has one use only; returns the chunks in use in their order, each
/// with the number of chunks that belong to it. Words about runs without an object are ignored.
///
/// # Errors
///
/// What the report returns.
pub(crate) fn in_use<M: Medium>(
    space: &Space<M>,
    chunks: &Chunks,
    report: &impl Report,
) -> Result<Vec<(u64, u64)>> {
    let geometry = &space.pool.geometry;
    let mut needed = Vec::new();
    for (of, what) in [
        (&chunks.records, "records"),
        (&chunks.roots, "roots"),
        (&chunks.headers, "headers of runs"),
    ] {
        needed.extend(of.iter().map(|&chunk| (chunk, 1, what)));
    }
    for &chunk in &chunks.runs {
        let run = space.run(chunk);
        if run.free_slots() < run.slots() {
            let count = geometry.chunk_of(run.slot_bytes()).max(1);
            needed.push((chunk, count, "objects"));
        }
    }
    needed.sort_unstable();
    let mut before = (1, geometry.lane_chunks(), "the lanes");
    for &(chunk, count, what) in &needed {
        if chunk < before.0 + before.1 {
            let what = format!(
                "chunk {chunk} is used for {what}, and for {} from chunk {} on",
                before.2, before.0
            );
            report.wrong(geometry.word_of(chunk), what)?;
        }
        if chunk + count > before.0 + before.1 {
            before = (chunk, count, what);
        }
    }
    let rows = needed.into_iter().map(|(chunk, count, _)| (chunk, count));
    Ok(rows.collect())
}
