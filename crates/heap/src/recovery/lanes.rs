//! The last operations of each lane, and repeating them.

use crate::allocator::Space;
use crate::error::{Error, Result};
use crate::lane::log;
use crate::layout::checked;
use crate::layout::chunk::Use;
use crate::layout::intent::{Commit, Filled, Intent};
use crate::layout::record::{CHECK_AT, RECORD_BYTES, Record};
use crate::medium::{Medium, WORD_BYTES};
use crate::operation::commit::check_of;
use crate::survey::records::Last;
use crate::survey::{self, First};

use super::undo;

/// The result of recovering the lanes.
pub(super) struct Recovered {
    /// For each lane, the operation up to which everything is settled.
    pub settled: Vec<u64>,
    /// Places that hold no record any more.
    pub places: Vec<u64>,
}

/// One lane after a crash.
struct Lane<'l> {
    /// Without commits that did not happen.
    left: survey::lanes::Lane,
    last: &'l Last,
    /// The last operation that left something visible. One that did not happen counts: its intent
    /// stays, so no later operation may have its number.
    seen: u64,
}

/// Undoes operations that did not happen, and repeats those that may not have been finished. This
/// can be interrupted and repeated.
///
/// # Errors
///
/// The pool is damaged, or a fence failed.
pub(super) fn recover<M: Medium>(space: &Space<M>, last: &[Last]) -> Result<Recovered> {
    let pool = &space.pool;
    let lanes = survey::lanes::read(space, &First)?;
    let lanes = lanes.into_iter().zip(last);
    let lanes = lanes.map(|(lane, last)| Lane::new(space, lane, last));
    let lanes: Vec<Lane> = lanes.collect();
    let mut places = Vec::new();
    for lane in &lanes {
        lane.recover(space, &mut places)?;
    }
    pool.medium.fence()?;
    let settled: Vec<u64> = lanes.iter().map(|lane| lane.seen).collect();
    for (lane, &top) in lanes.iter().zip(&settled) {
        if lane.left.settled < top {
            let at = pool.geometry.settled_of(lane.left.number);
            pool.medium.store_word(at, checked(at, top));
            pool.medium.flush(at, WORD_BYTES);
        }
    }
    pool.medium.fence()?;
    Ok(Recovered { settled, places })
}

impl<'l> Lane<'l> {
    fn new<M: Medium>(space: &Space<M>, mut left: survey::lanes::Lane, last: &'l Last) -> Self {
        let seen = left.top(last);
        // A commit without its log did not happen.
        left.intents.retain(|(_, _, intent)| match intent {
            Intent::Commit(commit) => log::entries(space, commit).is_ok(),
            _ => true,
        });
        Self { left, last, seen }
    }

    fn top(&self) -> u64 {
        self.left.top(self.last)
    }

    /// Returns the changes of an operation. A commit supersedes the undo that it ends.
    fn intent(&self, sequence: u64) -> Option<&Intent> {
        let of = self.intents_of(sequence);
        of.min_by_key(|intent| matches!(intent, Intent::Undo { .. }))
    }

    fn intents_of(&self, sequence: u64) -> impl Iterator<Item = &Intent> {
        let of = move |(_, number, _): &&(u64, u64, Intent)| *number == sequence;
        self.left
            .intents
            .iter()
            .filter(of)
            .map(|(_, _, intent)| intent)
    }

    fn records(&self, sequence: u64) -> impl Iterator<Item = &(u64, Record)> {
        let of = move |(_, record): &&(u64, Record)| record.sequence == sequence;
        self.last.records.iter().filter(of)
    }

    fn recover<M: Medium>(&self, space: &Space<M>, places: &mut Vec<u64>) -> Result<()> {
        let top = self.top();
        if top <= self.left.settled {
            return Ok(());
        }
        let happened = self.happened(space, top);
        // An operation that changed objects in place first made the effects of the operation before
        // it durable, and may have changed the same bytes (`undo`).
        let over = happened && self.undo_of(top).is_some();
        if top - 1 > self.left.settled && !over {
            self.repeat(space, top - 1, places)?;
        }
        if happened {
            return self.repeat(space, top, places);
        }
        if let Some(entries) = self.undo_of(top) {
            undo::undo(space, entries, top);
        }
        for &(place, record) in self.records(top) {
            space.pool.medium.store_word(place + CHECK_AT, 0);
            space.pool.medium.flush(place + CHECK_AT, WORD_BYTES);
            forget(space, place, &record, places)?;
        }
        Ok(())
    }

    /// Returns the place of the old contents of objects that an operation has changed in place.
    fn undo_of(&self, sequence: u64) -> Option<u64> {
        self.intents_of(sequence).find_map(|intent| match intent {
            Intent::Undo { entries } => Some(*entries),
            _ => None,
        })
    }

    /// Returns whether the last operation is complete: everything that it stores before its fence
    /// is valid.
    fn happened<M: Medium>(&self, space: &Space<M>, top: u64) -> bool {
        let records = self.records(top).count() as u64;
        let whole = self.records(top).all(|(_, record)| {
            let found = || check_of(space, record.object, record.bytes.unwrap_or(0));
            record.contents.is_none_or(|check| check == found())
        });
        let expected = match self.intent(top) {
            Some(Intent::Words { records, .. }) => *records,
            Some(Intent::Commit(commit)) => commit.records,
            Some(Intent::Undo { .. }) => return false,
            Some(Intent::Slot { filled, .. }) => return is_filled(space, filled),
            None => 1,
        };
        let alone = self.intent(top).is_none();
        let mut all = self.records(top);
        whole && all.all(|(_, record)| record.of_intent != alone) && records == expected
    }

    /// Repeats the changes of an operation, and flushes them.
    fn repeat<M: Medium>(
        &self,
        space: &Space<M>,
        sequence: u64,
        places: &mut Vec<u64>,
    ) -> Result<()> {
        match self.intent(sequence) {
            Some(intent @ (Intent::Words { .. } | Intent::Slot { .. })) => {
                set_all(space, intent.pairs(), places)
            }
            Some(Intent::Commit(commit)) => repeat_commit(space, commit, places),
            Some(Intent::Undo { .. }) | None => {
                let alone = |(_, record): &&(u64, Record)| !record.of_intent;
                let alone = self.records(sequence).filter(alone);
                let pointer = |(_, record): &(u64, Record)| (record.destination, record.pointer());
                set_all(space, &alone.map(pointer).collect::<Vec<_>>(), places)
            }
        }
    }
}

/// Returns whether the contents of a filled slot are complete.
fn is_filled<M: Medium>(space: &Space<M>, filled: &Filled) -> bool {
    let len = u64::from(filled.len);
    let within = len.is_multiple_of(WORD_BYTES) && space.pool.holds(filled.offset, len);
    within && check_of(space, filled.offset, len) == filled.check
}

fn repeat_commit<M: Medium>(
    space: &Space<M>,
    commit: &Commit,
    places: &mut Vec<u64>,
) -> Result<()> {
    let entries = log::entries(space, commit)?;
    for object in entries.objects {
        undo::copy(&space.pool, object);
    }
    set_all(space, &entries.words, places)
}

/// Sets words again.
fn set_all<M: Medium>(space: &Space<M>, words: &[(u64, u64)], places: &mut Vec<u64>) -> Result<()> {
    let mut words = words.iter();
    words.try_for_each(|&(offset, value)| set(space, offset, value, places))
}

/// Sets one word again. If that erases a record, its object is free.
fn set<M: Medium>(space: &Space<M>, offset: u64, value: u64, places: &mut Vec<u64>) -> Result<()> {
    let pool = &space.pool;
    pool.check(offset, WORD_BYTES, "an operation that was interrupted")?;
    let place = offset.wrapping_sub(CHECK_AT);
    let chunk = pool.geometry.chunk_of(offset);
    let of_record = value == 0
        && place.is_multiple_of(RECORD_BYTES)
        && !pool.geometry.is_table(chunk)
        && pool.use_of(chunk)? == Use::Records;
    if of_record && let Some(record) = Record::decode(place, pool.load_words(place)) {
        forget(space, place, &record, places)?;
    }
    pool.medium.store_word(offset, value);
    pool.medium.flush(offset, WORD_BYTES);
    Ok(())
}

/// Notes that an object is not in use after all.
fn forget<M: Medium>(
    space: &Space<M>,
    place: u64,
    record: &Record,
    places: &mut Vec<u64>,
) -> Result<()> {
    let run = space.index.get(space.pool.geometry.chunk_of(record.object));
    let slot = run.and_then(|run| Some((run, run.slot_at(record.object)?)));
    let sentence = || format!("the pool is damaged: the record at {place} names no object");
    let (run, slot) = slot.ok_or_else(|| Error::damaged(sentence()))?;
    run.give(slot);
    run.set_record(slot, 0);
    places.push(place);
    Ok(())
}
