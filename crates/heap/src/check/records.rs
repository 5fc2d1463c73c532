//! The records of objects: the second level of the allocation log.

use super::Findings;
use super::chunks::Chunks;
use super::lanes::Lane;
use crate::layout::record::{MAX_BYTES, RECORD_BYTES, Record};
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;

/// Reads all records, and notes in which slots objects are and what each lane did last.
pub(super) fn check<M: Medium>(
    pool: &Pool<M>,
    chunks: &mut Chunks,
    lanes: &mut [Lane],
    findings: &mut Findings,
) {
    for chunk in chunks.records.clone() {
        let first = pool.geometry.offset_of(chunk);
        let end = first + pool.geometry.chunk_bytes();
        for at in (first..end).step_by(RECORD_BYTES as usize) {
            let words = pool.load_words(at);
            if words[3] == 0 {
                continue;
            }
            let Some(record) = Record::decode(at, words) else {
                findings.add(at, "the record of an object is damaged");
                continue;
            };
            let checked = check_lane(&record, lanes)
                .and_then(|()| check_destination(pool, &record))
                .and_then(|()| take(pool, chunks, at, &record));
            if let Err(what) = checked {
                findings.add(at, format!("the record of an object {what}"));
            }
        }
    }
}

fn check_lane(record: &Record, lanes: &mut [Lane]) -> Result<(), String> {
    let all = lanes.len();
    let lane = lanes.get_mut(usize::from(record.lane));
    let lane = lane.ok_or_else(|| format!("names lane {} of {all}", record.lane))?;
    lane.top = lane.top.max(record.sequence);
    Ok(())
}

/// What lies at the destination may be something else by now.
fn check_destination<M: Medium>(pool: &Pool<M>, record: &Record) -> Result<(), String> {
    let at = record.destination;
    match at == 0 || pool.holds(at, WORD_BYTES) {
        true => Ok(()),
        false => Err(format!("has its pointer at {at}, which is not in the pool")),
    }
}

/// Takes the slot of a record's object.
fn take<M: Medium>(
    pool: &Pool<M>,
    chunks: &mut Chunks,
    at: u64,
    record: &Record,
) -> Result<(), String> {
    let object = record.object;
    let room = chunks.rooms.get_mut(&pool.geometry.chunk_of(object));
    let room = room.ok_or_else(|| format!("names an object at {object}, where none can be"))?;
    let slot = room.slot_at(object);
    let slot = slot.ok_or_else(|| format!("names an object at {object}, where no slot begins"))?;
    let bytes = record.bytes.unwrap_or(MAX_BYTES + 1);
    if bytes > room.slot {
        return Err(format!(
            "names an object at {object} of {bytes} bytes or more in a slot of {}",
            room.slot
        ));
    }
    let before = room.records[slot];
    // A compaction that was interrupted leaves two that say the same.
    if before != 0 && Record::decode(before, pool.load_words(before)) != Some(*record) {
        return Err(format!(
            "names the object at {object}, which the record at {before} names as well"
        ));
    }
    room.records[slot] = at;
    Ok(())
}
