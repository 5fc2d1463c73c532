//! What each lane did last, and doing it once more.

use crate::allocator::Space;
use crate::error::{Error, Result};
use crate::lane::log;
use crate::layout::chunk::Use;
use crate::layout::intent::{Commit, Filled, Intent};
use crate::layout::record::{CHECK_AT, RECORD_BYTES, Record};
use crate::layout::{checked, unchecked};
use crate::medium::{Medium, WORD_BYTES};
use crate::operation::check_of;
use crate::transaction::undo;

use super::scan::{Last, bad_record};

/// What recovery of the lanes has left.
pub(super) struct Recovered {
    /// Of each lane, the operation up to which everything is settled.
    pub settled: Vec<u64>,
    /// Places that hold no record any more.
    pub places: Vec<u64>,
}

/// One lane after a crash.
struct Lane<'l> {
    number: usize,
    settled: u64,
    intents: Vec<(u64, Intent)>,
    last: &'l Last,
}

/// Takes back what did not happen, and does once more what may not have been finished. That can
/// itself be interrupted, and done again.
///
/// # Errors
///
/// The pool is damaged, or a fence failed.
pub(super) fn recover<M: Medium>(space: &Space<M>, last: &[Last]) -> Result<Recovered> {
    let pool = &space.pool;
    let lanes: Vec<Lane> = last
        .iter()
        .enumerate()
        .map(|(number, last)| Lane::read(space, number, last))
        .collect::<Result<_>>()?;
    let mut places = Vec::new();
    for lane in &lanes {
        lane.recover(space, &mut places)?;
    }
    pool.medium.fence()?;
    let settled: Vec<u64> = lanes.iter().map(Lane::top).collect();
    for (lane, &top) in lanes
        .iter()
        .zip(&settled)
        .filter(|(lane, top)| lane.settled < **top)
    {
        let at = pool.geometry.settled_of(lane.number);
        pool.medium.store_word(at, checked(at, top));
        pool.medium.flush(at, WORD_BYTES);
    }
    pool.medium.fence()?;
    Ok(Recovered { settled, places })
}

impl<'l> Lane<'l> {
    fn read<M: Medium>(space: &Space<M>, number: usize, last: &'l Last) -> Result<Self> {
        let geometry = &space.pool.geometry;
        let at = geometry.settled_of(number);
        let settled = match space.pool.medium.load_word(at) {
            0 => 0,
            word => unchecked(at, word)
                .ok_or_else(|| Error::damaged(format!("the pool is damaged: lane {number} is")))?,
        };
        let mut intents: Vec<(u64, Intent)> = (0..u64::from(geometry.intents))
            .filter_map(|i| {
                let at = geometry.intent_of(number, i);
                Intent::decode(at, space.pool.load_words(at))
            })
            .filter(|&(sequence, _)| sequence > settled)
            .collect();
        // A commit without its log did not happen.
        intents.retain(|(_, intent)| match intent {
            Intent::Commit(commit) => log::entries(space, commit).is_ok(),
            _ => true,
        });
        Ok(Self {
            number,
            settled,
            intents,
            last,
        })
    }

    /// The last operation of which anything can be seen.
    fn top(&self) -> u64 {
        let records = self.last.records.iter().map(|(_, record)| record.sequence);
        let intents = self.intents.iter().map(|&(sequence, _)| sequence);
        records.chain(intents).fold(self.settled, u64::max)
    }

    /// What an operation was to change. A commit stands above the undo that it ends.
    fn intent(&self, sequence: u64) -> Option<&Intent> {
        let of = self
            .intents
            .iter()
            .filter(|(number, _)| *number == sequence);
        of.map(|(_, intent)| intent)
            .min_by_key(|intent| matches!(intent, Intent::Undo { .. }))
    }

    fn records(&self, sequence: u64) -> impl Iterator<Item = &(u64, Record)> {
        let of = move |(_, record): &&(u64, Record)| record.sequence == sequence;
        self.last.records.iter().filter(of)
    }

    fn recover<M: Medium>(&self, space: &Space<M>, places: &mut Vec<u64>) -> Result<()> {
        let top = self.top();
        if top <= self.settled {
            return Ok(());
        }
        if top - 1 > self.settled {
            self.repeat(space, top - 1, places)?;
        }
        if self.happened(space, top) {
            return self.repeat(space, top, places);
        }
        // A commit that did not happen ends no undo.
        for (_, intent) in self.intents.iter().filter(|(number, _)| *number == top) {
            if let Intent::Undo { entries } = intent {
                undo(space, *entries, top);
            }
        }
        for &(place, record) in self.records(top) {
            space.pool.medium.store_word(place + CHECK_AT, 0);
            space.pool.medium.flush(place + CHECK_AT, WORD_BYTES);
            forget(space, place, &record, places)?;
        }
        Ok(())
    }

    /// Whether the last operation is complete: all that it was to make durable before its fence is.
    fn happened<M: Medium>(&self, space: &Space<M>, top: u64) -> bool {
        let records = self.records(top).count() as u64;
        let whole = self.records(top).all(|(_, record)| match record.contents {
            Some(check) => {
                let bytes = record.bytes.unwrap_or(0);
                check_of(space, record.object, bytes) == check
            }
            None => true,
        });
        let expected = match self.intent(top) {
            Some(Intent::Words { records, .. }) => *records,
            Some(Intent::Commit(commit)) => commit.records,
            Some(Intent::Undo { .. }) => return false,
            Some(Intent::Slot { filled, .. }) => return is_filled(space, filled),
            None => 1,
        };
        let alone = self.intent(top).is_none();
        let fits = self
            .records(top)
            .all(|(_, record)| record.of_intent != alone);
        whole && fits && records == expected
    }

    /// Changes again what an operation has changed, and flushes it.
    fn repeat<M: Medium>(
        &self,
        space: &Space<M>,
        sequence: u64,
        places: &mut Vec<u64>,
    ) -> Result<()> {
        match self.intent(sequence) {
            Some(Intent::Words { pairs, count, .. }) => {
                for &(offset, value) in &pairs[..*count] {
                    set(space, offset, value, places)?;
                }
            }
            Some(Intent::Slot { pairs, count, .. }) => {
                for &(offset, value) in &pairs[..*count] {
                    set(space, offset, value, places)?;
                }
            }
            Some(Intent::Commit(commit)) => repeat_commit(space, commit, places)?,
            Some(Intent::Undo { .. }) | None => {
                let alone = |(_, record): &&(u64, Record)| !record.of_intent;
                for (_, record) in self.records(sequence).filter(alone) {
                    set(space, record.destination, record.pointer(), places)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a slot holds what it was filled with.
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
    let pool = &space.pool;
    let entries = log::entries(space, commit)?;
    for [offset, len, data] in entries.objects {
        let mut bytes = vec![0; len as usize];
        pool.medium.load(data, &mut bytes);
        pool.medium.store(offset, &bytes);
        pool.medium.flush(offset, len);
    }
    for (offset, value) in entries.words {
        set(space, offset, value, places)?;
    }
    Ok(())
}

/// Sets one word again. If that makes a record none, its object is free.
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

/// An object is not in use after all.
fn forget<M: Medium>(
    space: &Space<M>,
    place: u64,
    record: &Record,
    places: &mut Vec<u64>,
) -> Result<()> {
    let run = space.index.get(space.pool.geometry.chunk_of(record.object));
    let slot = run.and_then(|run| Some((run, run.slot_at(record.object)?)));
    let (run, slot) = slot.ok_or_else(|| bad_record(place, "names no object"))?;
    run.give(slot);
    run.set_record(slot, 0);
    places.push(place);
    Ok(())
}

/// Whether ranges of chunks in ascending order do not overlap.
///
/// # Errors
///
/// They do.
pub(super) fn disjoint(in_use: &[(u64, u64)]) -> Result<()> {
    for pair in in_use.windows(2) {
        if pair[0].0 + pair[0].1 > pair[1].0 {
            return Err(Error::damaged(format!(
                "the pool is damaged: chunk {} is used twice",
                pair[1].0
            )));
        }
    }
    Ok(())
}
