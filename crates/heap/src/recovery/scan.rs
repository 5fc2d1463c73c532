//! Reads the allocation log, on all processors: which objects are in use, and what each lane did
//! last.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::allocator::Space;
use crate::allocator::class::Classes;
use crate::allocator::run::Run;
use crate::error::{Error, Result};
use crate::layout::chunk::Use;
use crate::layout::record::{CHECK_AT, RECORD_BYTES, Record};
use crate::lock::lock;
use crate::medium::{Medium, WORD_BYTES};

/// So many chunks are worth a thread.
const CHUNKS_A_THREAD: usize = 8;

/// What the first level says.
#[derive(Default)]
pub(super) struct Chunks {
    /// Chunks of records.
    pub records: Vec<u64>,
    /// Chunks of roots.
    pub roots: Vec<u64>,
    /// Chunks of the naive allocator's headers.
    pub headers: Vec<u64>,
    /// Chunks with which a run or a large object begins.
    pub runs: Vec<u64>,
}

/// What the second level says.
#[derive(Default)]
pub(super) struct Found {
    /// Of each lane, the records of its last operations.
    pub last: Vec<Last>,
    /// Places that hold no record, by chunk.
    pub places: Vec<Vec<u64>>,
    /// Some of them that hold what another record says as well.
    doubles: Vec<u64>,
}

/// The records of a lane's last two operations that have any.
#[derive(Clone, Default)]
pub(super) struct Last {
    /// Places and what is there, at most one less than the largest sequence.
    pub records: Vec<(u64, Record)>,
    largest: u64,
}

impl Last {
    fn add(&mut self, place: u64, record: Record) {
        if record.sequence + 1 < self.largest {
            return;
        }
        if record.sequence > self.largest {
            self.largest = record.sequence;
            let least = self.largest - 1;
            self.records.retain(|(_, other)| other.sequence >= least);
        }
        self.records.push((place, record));
    }
}

/// Reads the words of all chunks, and makes runs of those that hold objects. All their slots are
/// free as yet.
///
/// # Errors
///
/// A word is damaged.
pub(super) fn chunks<M: Medium>(space: &Space<M>) -> Result<Chunks> {
    let pool = &space.pool;
    let geometry = &pool.geometry;
    let classes = Classes::new(geometry.chunk_bytes());
    let mut found = Chunks::default();
    for chunk in (1..pool.used()).filter(|&chunk| !geometry.is_table(chunk)) {
        let first = geometry.offset_of(chunk);
        let run = match pool.use_of(chunk)? {
            Use::Run { slot } => {
                if classes.of(slot).map(|class| classes.slot(class)) != Some(slot) {
                    return Err(damaged(chunk, "is cut into slots of no class"));
                }
                Run::of_slots(first, slot, geometry.chunk_bytes())
            }
            Use::Large { chunks } => {
                let end = chunk % geometry.region_chunks() + chunks;
                if chunk + chunks > pool.chunks() || end > geometry.region_chunks() {
                    return Err(damaged(chunk, "holds more than there is"));
                }
                Run::large(first, geometry.offset_of(chunks))
            }
            Use::Records => {
                found.records.push(chunk);
                continue;
            }
            Use::Roots => {
                found.roots.push(chunk);
                continue;
            }
            Use::Headers => {
                found.headers.push(chunk);
                continue;
            }
            Use::Free | Use::Log { .. } | Use::Lanes { .. } | Use::Bins => continue,
        };
        space.index.insert(chunk, run);
        found.runs.push(chunk);
    }
    Ok(found)
}

fn damaged(chunk: u64, how: &str) -> Error {
    Error::damaged(format!("the pool is damaged: chunk {chunk} {how}"))
}

/// Reads all records, and takes the slots of their objects.
///
/// # Errors
///
/// A record is damaged, or two name the same object.
pub(super) fn records<M: Medium>(space: &Space<M>, chunks: &[u64]) -> Result<Found> {
    let threads = match chunks.len().div_ceil(CHUNKS_A_THREAD) {
        0 | 1 => 1,
        enough => thread::available_parallelism().map_or(1, |n| enough.min(NonZero::get(n))),
    };
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Ok(empty(space)));
    let work = || {
        let mut found = empty(space);
        let mut done = Ok(());
        while let Some(&chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
            done = done.and_then(|()| read(space, chunk, &mut found));
        }
        let mut all = lock(&all);
        match (&mut *all, done) {
            (Ok(all), Ok(())) => all.add(found),
            (all, Err(error)) => *all = Err(error),
            (Err(_), Ok(())) => {}
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let found = all.into_inner().unwrap_or_else(|e| e.into_inner())?;
    // By this thread, whose next fence makes it durable, and not by those that have read them.
    for place in &found.doubles {
        space.pool.medium.store_word(place + CHECK_AT, 0);
        space.pool.medium.flush(place + CHECK_AT, WORD_BYTES);
    }
    Ok(found)
}

fn empty<M>(space: &Space<M>) -> Found {
    Found {
        last: vec![Last::default(); space.pool.geometry.lanes.into()],
        places: Vec::new(),
        doubles: Vec::new(),
    }
}

impl Found {
    fn add(&mut self, other: Found) {
        self.places.extend(other.places);
        self.doubles.extend(other.doubles);
        for (last, other) in self.last.iter_mut().zip(other.last) {
            for (place, record) in other.records {
                last.add(place, record);
            }
        }
    }
}

/// Reads one chunk of records.
fn read<M: Medium>(space: &Space<M>, chunk: u64, found: &mut Found) -> Result<()> {
    let geometry = &space.pool.geometry;
    let first = geometry.offset_of(chunk);
    let mut places = Vec::new();
    for place in (first..first + geometry.chunk_bytes()).step_by(RECORD_BYTES as usize) {
        let words = space.pool.load_words(place);
        if words[3] == 0 {
            places.push(place);
            continue;
        }
        // The last word is stored last, so what has one is not torn.
        let record = Record::decode(place, words)
            .filter(|record| usize::from(record.lane) < found.last.len())
            .ok_or_else(|| bad_record(place, "is damaged"))?;
        if !take(space, place, &record)? {
            found.doubles.push(place);
            places.push(place);
            continue;
        }
        found.last[usize::from(record.lane)].add(place, record);
    }
    places.reverse();
    if !places.is_empty() {
        found.places.push(places);
    }
    Ok(())
}

/// Takes the slot of a record's object; whether no other record has.
fn take<M: Medium>(space: &Space<M>, place: u64, record: &Record) -> Result<bool> {
    let run = space.index.get(space.pool.geometry.chunk_of(record.object));
    let run = run.ok_or_else(|| bad_record(place, "names an object where none can be"))?;
    let slot = run
        .slot_at(record.object)
        .filter(|_| record.bytes.is_none_or(|bytes| bytes <= run.slot_bytes()))
        .ok_or_else(|| bad_record(place, "names an object that does not fit its slot"))?;
    match run.claim(slot, place) {
        Ok(()) => {
            run.take(slot);
            Ok(true)
        }
        // A record that was being moved.
        Err(other) if Record::decode(other, space.pool.load_words(other)) == Some(*record) => {
            Ok(false)
        }
        Err(_) => Err(bad_record(place, "names an object that another one names")),
    }
}

pub(super) fn bad_record(place: u64, how: &str) -> Error {
    Error::damaged(format!(
        "the pool is damaged: the object record at {place} {how}"
    ))
}
