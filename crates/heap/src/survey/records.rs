//! The records of objects, the second level of the allocation log: which objects are in use, and
//! what each lane did last. Read on all processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::Report;
use super::chunks::Chunks;
use super::threads::{on_each, on_threads, threads_for};
use crate::allocator::Space;
use crate::error::Result;
use crate::layout::record::{CHECK_AT, MAX_BYTES, RECORD_BYTES, Record};
use crate::lock::lock;
use crate::medium::{Medium, WORD_BYTES};

/// The result of reading the records.
#[derive(Default)]
pub(crate) struct Found {
    /// For each lane, the records of its last operations.
    pub last: Vec<Last>,
    /// Places that hold no record, by chunk.
    pub places: Vec<Vec<u64>>,
    /// Places among them that hold a copy of another record.
    doubles: Vec<u64>,
    /// Objects whose slots were claimed.
    objects: u64,
}

/// The records of a lane's last two operations that have any.
#[derive(Clone, Default)]
pub(crate) struct Last {
    /// Places and records, of the largest sequence and the one before.
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

/// Reads all records, and takes the slots of their objects. Copies of other records, which an
/// interrupted compaction leaves, are erased; the next fence makes that durable.
///
/// # Errors
///
/// What the report returns.
pub(crate) fn read<M: Medium>(
    space: &Space<M>,
    chunks: &Chunks,
    report: &impl Report,
) -> Result<Found> {
    let threads = threads_for(chunks.records.len());
    let mut found = claim(space, &chunks.records, threads, report)?;
    if take_claimed(space, &chunks.runs) != found.objects {
        // Two threads have claimed a slot at the same moment; one thread alone sees which came
        // second.
        for &chunk in &chunks.runs {
            space.run(chunk).forget_claims();
        }
        found = claim(space, &chunks.records, 1, report)?;
        take_claimed(space, &chunks.runs);
    }
    // By this thread, whose next fence makes it durable, not by the threads that read them.
    for place in &found.doubles {
        space.pool.medium.store_word(place + CHECK_AT, 0);
        space.pool.medium.flush(place + CHECK_AT, WORD_BYTES);
    }
    Ok(found)
}

/// Reads all records, and claims the slots of their objects.
fn claim<M: Medium>(
    space: &Space<M>,
    chunks: &[u64],
    threads: usize,
    report: &impl Report,
) -> Result<Found> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Ok(empty(space)));
    let work = || {
        let mut found = empty(space);
        let mut done = Ok(());
        while let Some(&chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
            done = done.and_then(|()| read_chunk(space, chunk, &mut found, report));
        }
        match (&mut *lock(&all), done) {
            (Ok(all), Ok(())) => all.add(found),
            (all, Err(error)) => *all = Err(error),
            (Err(_), Ok(())) => {}
        }
    };
    on_threads(threads, work);
    all.into_inner().unwrap_or_else(|e| e.into_inner())
}

/// Takes the slots that were claimed, and returns their number.
fn take_claimed<M: Medium>(space: &Space<M>, runs: &[u64]) -> u64 {
    let taken = AtomicU64::new(0);
    on_each(runs, threads_for(runs.len()), |&chunk| {
        taken.fetch_add(space.run(chunk).take_claimed(), Ordering::Relaxed);
    });
    taken.into_inner()
}

fn empty<M>(space: &Space<M>) -> Found {
    Found {
        last: vec![Last::default(); space.pool.geometry.lanes.into()],
        ..Found::default()
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

/// Reads one chunk of records from the last to the first: the last is most likely a lane's newest,
/// so that hardly any other has to be kept.
fn read_chunk<M: Medium>(
    space: &Space<M>,
    chunk: u64,
    found: &mut Found,
    report: &impl Report,
) -> Result<()> {
    let mut places = Vec::new();
    for place in space.pool.geometry.places(chunk, RECORD_BYTES).rev() {
        let words = space.pool.load_words(place);
        if words[3] == 0 {
            places.push(place);
            continue;
        }
        // The last word is stored last, so a record that has one is not torn.
        let Some(record) = Record::decode(place, words) else {
            report.wrong(place, "the record of an object is damaged".into())?;
            continue;
        };
        match check(space, place, &record, found.last.len()) {
            Ok(true) => {
                found.objects += 1;
                found.last[usize::from(record.lane)].add(place, record);
            }
            Ok(false) => {
                found.doubles.push(place);
                places.push(place);
            }
            Err(what) => report.wrong(place, format!("the record of an object {what}"))?,
        }
    }
    if !places.is_empty() {
        found.places.push(places);
    }
    Ok(())
}

/// Claims the slot of a record's object; returns whether no other record had claimed it. The
/// destination may hold something else by now.
fn check<M: Medium>(
    space: &Space<M>,
    place: u64,
    record: &Record,
    lanes: usize,
) -> std::result::Result<bool, String> {
    let pool = &space.pool;
    if usize::from(record.lane) >= lanes {
        return Err(format!("names lane {} of {lanes}", record.lane));
    }
    let (at, object) = (record.destination, record.object);
    if at != 0 && !pool.holds(at, WORD_BYTES) {
        return Err(format!("has its pointer at {at}, which is not in the pool"));
    }
    let run = space.index.get(pool.geometry.chunk_of(object));
    let run = run.ok_or_else(|| format!("names an object at {object}, where none can be"))?;
    let slot = run.slot_at(object);
    let slot = slot.ok_or_else(|| format!("names an object at {object}, where no slot begins"))?;
    let bytes = record.bytes.unwrap_or(MAX_BYTES + 1);
    if bytes > run.slot_bytes() {
        return Err(format!(
            "names an object at {object} of {bytes} bytes or more in a slot of {}",
            run.slot_bytes()
        ));
    }
    match run.claim(slot, place) {
        Ok(()) => Ok(true),
        // A record that was being moved.
        Err(other) if Record::decode(other, pool.load_words(other)) == Some(*record) => Ok(false),
        Err(other) => Err(format!(
            "names the object at {object}, which the record at {other} names as well"
        )),
    }
}
