//! Statistics of a pool: how it is filled.

use crate::allocator::Space;
use crate::allocator::class::Classes;
use crate::allocator::run::Run;
use crate::error::Result;
use crate::heap::Heap;
use crate::lane::log::{OBJECT_ENTRY, WORD_ENTRY};
use crate::layout::chunk::Use;
use crate::layout::header;
use crate::layout::intent::Intent;
use crate::layout::record::{RECORD_BYTES, Record};
use crate::medium::Medium;
use crate::pool::Pool;
use crate::roots::RootInfo;
use crate::survey;

/// Statistics of a pool: how it is filled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Info {
    /// Version of the format.
    pub version: u64,
    /// Bytes of the pool.
    pub bytes: u64,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Lanes: threads that can work at the same time.
    pub lanes: u16,
    /// Chunks by their use.
    pub chunks: Chunks,
    /// Objects in use.
    pub objects: u64,
    /// Objects that fill whole chunks, which `objects` includes.
    #[cfg_attr(feature = "serde", serde(rename = "large_objects"))]
    pub large: u64,
    /// Bytes requested for the objects, each rounded up to 16; for objects longer than 1 MiB, the
    /// bytes of their chunks.
    pub object_bytes: u64,
    /// Bytes of the slots and chunks of the objects.
    pub slot_bytes: u64,
    /// Objects that share chunks, by the bytes of their slots; classes without a run are left out.
    pub classes: Vec<Class>,
    /// The log of object records.
    pub records: Fill,
    /// Lanes that were not settled: their last operations are repeated when the pool is opened.
    pub unsettled: Vec<Unsettled>,
    /// Roots, by name.
    pub roots: Vec<RootInfo>,
}

/// Chunks by their use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Chunks {
    /// All chunks of the pool.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub all: u64,
    /// Chunks of tables: words about other chunks.
    pub tables: u64,
    /// Chunks of lanes.
    pub lanes: u64,
    /// Chunks of roots.
    pub roots: u64,
    /// Chunks of object records.
    pub records: u64,
    /// Chunks of runs: objects that share a chunk.
    pub runs: u64,
    /// Chunks of large objects.
    pub large: u64,
    /// Free chunks.
    pub free: u64,
    /// Length of the longest row of free chunks.
    pub longest_free: u64,
}

/// The slots of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Class {
    /// Bytes of a slot.
    #[cfg_attr(feature = "serde", serde(rename = "slot_bytes"))]
    pub slot: u64,
    /// Chunks with slots of this size.
    #[cfg_attr(feature = "serde", serde(rename = "chunks"))]
    pub runs: u64,
    /// Slots in use.
    pub objects: u64,
    /// Free slots.
    pub free: u64,
}

/// How far a log is filled, in places for entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fill {
    /// All places.
    pub places: u64,
    /// Places in use.
    pub used: u64,
}

/// A lane that was not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Unsettled {
    /// Number of the lane.
    pub lane: u64,
    /// Operations that were not settled, as far as they can be seen; the last two are repeated.
    pub operations: u64,
    /// Bytes of their commits in the transaction log, without data.
    pub log_bytes: u64,
}

/// Returns the statistics of the pool on a medium.
///
/// The pool is recovered, so pass a private mapping
/// ([`Mode::Private`](crate::medium::mapped::Mode::Private)) or a copy.
///
/// # Errors
///
/// The medium holds no pool, or one that cannot be opened.
pub fn info<M: Medium>(medium: M) -> Result<Info> {
    let pool = survey::open_original(medium)?;
    let before = lanes(&pool);
    let version = header::version(&pool.load_words(0));
    let heap = Heap::open_pool(survey::open(pool.medium.into_medium())?)?;
    let (space, _held) = (&heap.core().space, heap.core().hold());
    let unsettled = lanes(&space.pool).into_iter().zip(before).zip(0..);
    let unsettled = unsettled.filter(|((now, then), _)| now.0 > then.0);
    let unsettled = unsettled.map(|((now, then), lane)| Unsettled {
        lane,
        operations: now.0 - then.0,
        log_bytes: then.1,
    });
    let chunk_bytes = space.pool.geometry.chunk_bytes();
    let mut info = Info {
        version,
        bytes: space.pool.chunks() * chunk_bytes,
        chunk_bytes,
        lanes: space.pool.geometry.lanes,
        chunks: Chunks::default(),
        objects: 0,
        large: 0,
        object_bytes: 0,
        slot_bytes: 0,
        classes: classes(space),
        records: Fill::default(),
        unsettled: unsettled.collect(),
        roots: heap.roots()?,
    };
    info.count(space);
    Ok(info)
}

/// Returns for each lane the operation up to which it is settled, and the bytes of logs of the
/// operations after it.
fn lanes<M: Medium>(pool: &Pool<M>) -> Vec<(u64, u64)> {
    let geometry = &pool.geometry;
    let lane = |number| {
        let settled = survey::lanes::settled(pool, number).unwrap_or(0);
        let pending = geometry.intents_of(number).filter_map(|at| {
            match Intent::decode(at, pool.load_words(at)) {
                Some((sequence, Intent::Commit(commit))) if sequence > settled => {
                    let words = commit.word_count.saturating_mul(WORD_ENTRY);
                    Some(words.saturating_add(commit.object_count.saturating_mul(OBJECT_ENTRY)))
                }
                _ => None,
            }
        });
        (settled, pending.fold(0, u64::saturating_add))
    };
    (0..usize::from(geometry.lanes)).map(lane).collect()
}

/// Returns the classes that have a run.
fn classes<M: Medium>(space: &Space<M>) -> Vec<Class> {
    let classes = Classes::new(space.pool.geometry.chunk_bytes());
    let mut found = vec![Class::default(); classes.len()];
    let runs = (1..space.pool.used()).filter_map(|chunk| space.run_from(chunk));
    for run in runs.filter(|run| !run.large) {
        let objects = run.records();
        let class = &mut found[classes.of_run(run)];
        class.slot = run.slot_bytes();
        class.runs += 1;
        class.objects += objects as u64;
        class.free += (run.slots() - objects) as u64;
    }
    found.retain(|class| class.runs > 0);
    found
}

impl Info {
    fn count<M: Medium>(&mut self, space: &Space<M>) {
        let (pool, geometry) = (&space.pool, &space.pool.geometry);
        self.chunks.all = pool.chunks();
        self.chunks.tables = pool.chunks().div_ceil(geometry.region_chunks());
        self.chunks.lanes = geometry.lane_chunks();
        self.chunks.free = space.chunks.count();
        self.chunks.longest_free = space.chunks.longest();
        for chunk in (1..pool.used()).filter(|&chunk| !geometry.is_table(chunk)) {
            match space.run_from(chunk) {
                Some(run) if run.large => {
                    self.chunks.large += geometry.chunk_of(run.slot_bytes());
                    self.large += run.records() as u64;
                }
                Some(_) => self.chunks.runs += 1,
                None => match pool.use_of(chunk) {
                    Ok(Use::Records) => self.count_records(space, chunk),
                    Ok(Use::Roots) => self.chunks.roots += 1,
                    _ => {}
                },
            }
        }
    }

    fn count_records<M: Medium>(&mut self, space: &Space<M>, chunk: u64) {
        self.chunks.records += 1;
        for at in space.pool.geometry.places(chunk, RECORD_BYTES) {
            self.records.places += 1;
            if let Some(record) = Record::decode(at, space.pool.load_words(at)) {
                self.records.used += 1;
                self.count_object(space, &record);
            }
        }
    }

    fn count_object<M: Medium>(&mut self, space: &Space<M>, record: &Record) {
        let run = space.index.get(space.pool.geometry.chunk_of(record.object));
        let slot = run.map_or(0, Run::slot_bytes);
        self.objects += 1;
        self.slot_bytes += slot;
        self.object_bytes += record.bytes.unwrap_or(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::simulated::{Granule, Simulated};
    use crate::options::Options;
    use crate::ptr::Place;

    #[test]
    fn what_is_in_use_is_counted() {
        let options = Options::default().chunk_bytes(4096).lanes(2);
        let medium = Simulated::new(40 << 12, Granule::Line);
        let heap = Heap::make_on(medium, &options).unwrap();
        let place = |name: &str| -> Place<[u8; 100]> { heap.root(name, 3).unwrap() };
        for name in ["a", "b", "c"] {
            heap.publish(place(name), &[1; 100]).unwrap();
        }
        heap.free(place("b")).unwrap();
        let large = heap.root::<[u64; 1025]>("large", 0).unwrap();
        heap.publish(large, &[2; 1025]).unwrap();
        heap.free(place("c")).unwrap();
        let crashed = Simulated::from_bytes(&heap.medium().bytes(), Granule::Line);
        let info = info(crashed).unwrap();
        assert_eq!((info.objects, info.large), (2, 1));
        assert_eq!(
            (info.object_bytes, info.slot_bytes),
            (112 + 8208, 112 + 3 * 4096)
        );
        let class = Class {
            slot: 112,
            runs: 1,
            objects: 1,
            free: 35,
        };
        assert_eq!(info.classes, [class]);
        let (places, used) = (128, 2);
        assert_eq!(info.records, Fill { places, used });
        let chunks = info.chunks;
        assert_eq!(
            (chunks.all, chunks.tables, chunks.lanes, chunks.roots),
            (40, 1, 1, 1)
        );
        assert_eq!(
            (chunks.records, chunks.runs, chunks.large, chunks.free),
            (1, 1, 3, 32)
        );
        assert_eq!(chunks.longest_free, 32);
        assert_eq!(info.unsettled.len(), 1);
        assert_eq!(info.unsettled[0].operations, 6);
        let names: Vec<_> = info.roots.iter().map(|root| &root.name[..]).collect();
        assert_eq!(names, ["a", "b", "c", "large"]);
    }
}
