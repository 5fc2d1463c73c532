//! Reads the allocation log, on all processors: which objects are in use, and what each lane did
//! last.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
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
    /// Objects whose slots were claimed.
    objects: u64,
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

/// A chunk with which a run or a large object begins.
struct Cut {
    chunk: u64,
    /// Bytes of a slot, or of the object.
    bytes: u64,
    large: bool,
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
    let mut cuts = Vec::new();
    for chunk in (1..pool.used()).filter(|&chunk| !geometry.is_table(chunk)) {
        let (bytes, large) = match pool.use_of(chunk)? {
            Use::Run { slot } => {
                if classes.of(slot).map(|class| classes.slot(class)) != Some(slot) {
                    return Err(damaged(chunk, "is cut into slots of no class"));
                }
                (slot, false)
            }
            Use::Large { chunks } => {
                let end = chunk % geometry.region_chunks() + chunks;
                if chunk + chunks > pool.chunks() || end > geometry.region_chunks() {
                    return Err(damaged(chunk, "holds more than there is"));
                }
                (geometry.offset_of(chunks), true)
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
            Use::Free | Use::Log { .. } | Use::Lanes { .. } | Use::Bins | Use::Journal { .. } => {
                continue;
            }
        };
        cuts.push(Cut {
            chunk,
            bytes,
            large,
        });
    }
    found.runs = cuts.iter().map(|cut| cut.chunk).collect();
    on_each(&cuts, threads_for(cuts.len()), |cut| {
        let first = geometry.offset_of(cut.chunk);
        let run = match cut.large {
            true => Run::large(first, cut.bytes),
            false => Run::of_slots(first, cut.bytes, geometry.chunk_bytes()),
        };
        space.index.insert(cut.chunk, run);
    });
    Ok(found)
}

/// How many threads to have work on so many chunks.
fn threads_for(chunks: usize) -> usize {
    match chunks.div_ceil(CHUNKS_A_THREAD) {
        0 | 1 => 1,
        enough => thread::available_parallelism().map_or(1, |n| enough.min(NonZero::get(n))),
    }
}

/// Has so many threads, this one among them, work on each item.
fn on_each<T: Sync>(items: &[T], threads: usize, work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let all = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(all);
        }
        all();
    });
}

fn damaged(chunk: u64, how: &str) -> Error {
    Error::damaged(format!("the pool is damaged: chunk {chunk} {how}"))
}

/// Reads all records, and takes the slots of their objects, of which `runs` are the runs.
///
/// # Errors
///
/// A record is damaged, or two name the same object.
pub(super) fn records<M: Medium>(space: &Space<M>, chunks: &[u64], runs: &[u64]) -> Result<Found> {
    let mut found = claim(space, chunks, threads_for(chunks.len()))?;
    if take_claimed(space, runs) != found.objects {
        // Two threads have claimed a slot at the same moment; one alone sees who comes second.
        for &chunk in runs {
            run_of(space, chunk).forget_claims();
        }
        found = claim(space, chunks, 1)?;
        take_claimed(space, runs);
    }
    // By this thread, whose next fence makes it durable, and not by those that have read them.
    for place in &found.doubles {
        space.pool.medium.store_word(place + CHECK_AT, 0);
        space.pool.medium.flush(place + CHECK_AT, WORD_BYTES);
    }
    Ok(found)
}

/// Reads all records, and claims the slots of their objects.
fn claim<M: Medium>(space: &Space<M>, chunks: &[u64], threads: usize) -> Result<Found> {
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
    all.into_inner().unwrap_or_else(|e| e.into_inner())
}

/// Takes the slots that were claimed, and says how many they are.
fn take_claimed<M: Medium>(space: &Space<M>, runs: &[u64]) -> u64 {
    let taken = AtomicU64::new(0);
    on_each(runs, threads_for(runs.len()), |&chunk| {
        taken.fetch_add(run_of(space, chunk).take_claimed(), Ordering::Relaxed);
    });
    taken.into_inner()
}

fn run_of<M>(space: &Space<M>, chunk: u64) -> &Run {
    space.index.get(chunk).expect("the scan has made it")
}

fn empty<M>(space: &Space<M>) -> Found {
    Found {
        last: vec![Last::default(); space.pool.geometry.lanes.into()],
        places: Vec::new(),
        doubles: Vec::new(),
        objects: 0,
    }
}

impl Found {
    fn add(&mut self, other: Found) {
        self.places.extend(other.places);
        self.doubles.extend(other.doubles);
        self.objects += other.objects;
        for (last, other) in self.last.iter_mut().zip(other.last) {
            for (place, record) in other.records {
                last.add(place, record);
            }
        }
    }
}

/// Reads one chunk of records, the last one first: it is most likely a lane's newest, so that hardly
/// any other has to be kept.
fn read<M: Medium>(space: &Space<M>, chunk: u64, found: &mut Found) -> Result<()> {
    let geometry = &space.pool.geometry;
    let first = geometry.offset_of(chunk);
    let mut places = Vec::new();
    for number in (0..geometry.chunk_bytes() / RECORD_BYTES).rev() {
        let place = first + number * RECORD_BYTES;
        let words = space.pool.load_words(place);
        if words[3] == 0 {
            places.push(place);
            continue;
        }
        // The last word is stored last, so what has one is not torn.
        let record = Record::decode(place, words)
            .filter(|record| usize::from(record.lane) < found.last.len())
            .ok_or_else(|| bad_record(place, "is damaged"))?;
        if !is_first(space, place, &record)? {
            found.doubles.push(place);
            places.push(place);
            continue;
        }
        found.objects += 1;
        found.last[usize::from(record.lane)].add(place, record);
    }
    if !places.is_empty() {
        found.places.push(places);
    }
    Ok(())
}

/// Claims the slot of a record's object; whether no other record has.
fn is_first<M: Medium>(space: &Space<M>, place: u64, record: &Record) -> Result<bool> {
    let run = space.index.get(space.pool.geometry.chunk_of(record.object));
    let run = run.ok_or_else(|| bad_record(place, "names an object where none can be"))?;
    let slot = run
        .slot_at(record.object)
        .filter(|_| record.bytes.is_none_or(|bytes| bytes <= run.slot_bytes()))
        .ok_or_else(|| bad_record(place, "names an object that does not fit its slot"))?;
    match run.claim(slot, place) {
        Ok(()) => Ok(true),
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
