//! The commit of an operation: the description of its changes, the fence with which it has
//! happened, and the changes themselves.

use std::mem;

use crate::allocator::Space;
use crate::allocator::index::Holds;
use crate::checksum::Checksum;
use crate::error::{Error, Result, ensure};
use crate::lane::Held;
use crate::lane::changes::{Changes, Check, Object};
use crate::lane::own::Stamp;
use crate::lane::window::Range;
use crate::layout::intent::{
    FAR_PAIRS, Filled, INTENT_WORDS, Intent, MAX_PAIRS, MAX_RECORDS, fit_slot,
};
use crate::layout::record::{CHECK_AT, MAX_BYTES, Record};
use crate::layout::{FIELD_BITS, FIELD_MAX};
use crate::medium::{LINE_BYTES, Medium};

use super::Core;

/// How the changes of an operation are described, the cheapest way first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    /// By the record of its only object, which names the only word that changes.
    Record,
    /// By an intent with the words.
    Words,
    /// By an intent with the words and the check of the filled slot.
    Slot,
    /// By an intent with the place of the entries in the log.
    Log,
}

impl Said {
    fn of(changes: &Changes) -> Self {
        let (new, freed) = (&changes.new, changes.freed.len());
        if !changes.runs.is_empty() {
            return Said::Log;
        }
        let all = changes.words.len() + freed;
        match (&changes.fills[..], &new[..], &changes.words[..]) {
            ([], [new], [(_, to)]) if freed == 0 && to & FIELD_MAX == new.offset => Said::Record,
            ([], _, _) if all <= MAX_PAIRS && new.len() as u64 <= MAX_RECORDS => Said::Words,
            ([(range, Some(_))], [], words)
                if (all <= FAR_PAIRS || freed == 0 && fit_slot(words))
                    && range.len <= u32::MAX.into() =>
            {
                Said::Slot
            }
            _ => Said::Log,
        }
    }
}

impl<M: Medium> Core<M> {
    /// Carries out changes as the next operation of a lane, which owns their ranges; returns its
    /// stamp, if there are any changes. If there was no room the changes are left as they were.
    ///
    /// # Errors
    ///
    /// There is no room for records or the log, the changes lie in no object, or a fence failed.
    #[inline]
    pub fn commit(&self, held: &mut Held, changes: &mut Changes) -> Result<Option<Stamp>> {
        if changes.is_empty() {
            return Ok(None);
        }
        self.expect_all_objects(changes)?;
        debug_assert!(
            held.owns(
                &changes
                    .named()
                    .chain(changes.freed.iter().map(Object::range))
                    .collect::<Vec<_>>()
            ),
            "what is changed is not owned"
        );
        let said = Said::of(changes);
        let words = changes.words.len();
        let done = self.take_places(held, changes).and_then(|()| {
            let freed = changes.freed.iter();
            let none = freed.map(|object| (object.record + CHECK_AT, 0));
            changes.words.extend(none);
            self.say(held, changes, said)
        });
        if let Err(error) = done {
            changes.words.truncate(words);
            let places = changes.new.iter_mut().map(|new| mem::take(&mut new.place));
            held.state
                .records
                .extend(places.filter(|&place| place != 0));
            return Err(error);
        }
        self.apply(held, changes);
        Ok(Some(held.last()))
    }

    /// Checks all ranges that are changed where other operations may have changed them before.
    ///
    /// # Errors
    ///
    /// Same as [`Core::expect_objects`].
    #[inline]
    fn expect_all_objects(&self, changes: &Changes) -> Result<()> {
        // Words that follow each other are mostly in one chunk.
        let mut known = None;
        for &(at, _) in &changes.words {
            let chunk = self.space.pool.geometry.chunk_of(at);
            if known != Some(chunk) {
                self.expect_objects(Range::word(at))?;
                known = Some(chunk);
            }
        }
        let mut runs = changes.runs.iter();
        runs.try_for_each(|(at, words)| {
            self.expect_objects(Range::new(*at, size_of_val(&words[..]) as u64))
        })
    }

    /// Checks that a range lies in objects or roots, which programs may change; capacity that a
    /// program was given does not count, whatever a damaged pool says.
    ///
    /// # Errors
    ///
    /// The range lies elsewhere.
    #[inline]
    pub fn expect_objects(&self, range: Range) -> Result<()> {
        let geometry = &self.space.pool.geometry;
        let last = geometry.chunk_of(range.offset + range.len.max(1) - 1);
        for chunk in geometry.chunk_of(range.offset)..=last {
            ensure(
                matches!(self.space.index.holds(chunk), Holds::Objects | Holds::Roots),
                || {
                    Error::damaged(format!(
                        "no object lies at {} of the pool, where one was to be changed",
                        range.offset
                    ))
                },
            )?;
        }
        Ok(())
    }

    /// Carries out an operation that changes nothing: after it the changes of the one before are
    /// durable.
    ///
    /// # Errors
    ///
    /// A fence failed.
    #[cold]
    pub fn pass(&self, held: &mut Held) -> Result<()> {
        let nothing = Changes::default();
        self.store_intent(held, &words_intent(&nothing));
        held.fence(&self.space, &nothing)
    }

    /// Takes places for the records of all new objects.
    #[inline]
    fn take_places(&self, held: &mut Held, changes: &mut Changes) -> Result<()> {
        for new in &mut changes.new {
            new.place = held.take_record(&self.space)?;
        }
        Ok(())
    }

    /// Stores the description of the changes, durably: when this returns the operation has
    /// happened.
    #[inline]
    fn say(&self, held: &mut Held, changes: &mut Changes, said: Said) -> Result<()> {
        if said == Said::Log {
            held.make_room(&self.space, changes)?;
            // Words of one line are stored together, so that it is flushed once.
            changes.words[changes.grouped..].sort_unstable();
        }
        self.store_new(held, changes, said)?;
        let intent = match said {
            Said::Record => None,
            Said::Words => Some(words_intent(changes)),
            Said::Slot => Some(slot_intent(changes)),
            Said::Log => Some(Intent::Commit(held.log(&self.space, changes))),
        };
        if let Some(intent) = intent {
            self.store_intent(held, &intent);
        }
        held.fence(&self.space, changes)
    }

    /// Flushes new objects, and stores their records.
    #[inline]
    fn store_new(&self, held: &Held, changes: &Changes, said: Said) -> Result<()> {
        let pool = &self.space.pool;
        let mut fenced = true;
        for new in &changes.new {
            if !matches!(new.check, Check::Durable | Check::Flushed) {
                pool.medium.flush(new.offset, new.len);
            }
            fenced &= !matches!(new.check, Check::Flushed | Check::ToBeFenced);
        }
        if !fenced {
            // The records of these objects have no check of the contents.
            pool.medium.fence()?;
        }
        let (destination, pointer) = match said {
            Said::Record => changes.words[0],
            _ => (0, 0),
        };
        let mut last = None;
        for new in &changes.new {
            let record = Record {
                object: new.offset,
                upper: (pointer >> FIELD_BITS) as u16,
                destination,
                lane: held.index as u8,
                kind: 0,
                sequence: held.next(),
                bytes: (new.len <= MAX_BYTES).then_some(new.len),
                of_intent: said != Said::Record,
                contents: match new.check {
                    Check::Known(check) => Some(check),
                    Check::ToBeMade => Some(check_of(&self.space, new.offset, new.len)),
                    Check::Durable | Check::Flushed | Check::ToBeFenced => None,
                },
            };
            pool.store_words(new.place, &record.encode(new.place));
            let line = new.place / LINE_BYTES;
            if last.is_some_and(|last| last != line) {
                pool.medium
                    .flush(last.unwrap_or(0) * LINE_BYTES, LINE_BYTES);
            }
            last = Some(line);
        }
        if let Some(line) = last {
            pool.medium.flush(line * LINE_BYTES, LINE_BYTES);
        }
        Ok(())
    }

    /// Stores and flushes the intent of the next operation.
    #[inline]
    fn store_intent(&self, held: &mut Held, intent: &Intent) {
        let pool = &self.space.pool;
        let at = pool.geometry.intent_of(held.index, held.state.intents);
        held.state.intents += 1;
        let words: [u64; INTENT_WORDS] = intent.encode(at, held.next());
        pool.store_flushed(at, &words);
    }

    /// Makes the changes in place, as described by the operation that has just passed its fence.
    #[inline]
    fn apply(&self, held: &mut Held, changes: &Changes) {
        let pool = &self.space.pool;
        for (offset, words) in &changes.runs {
            pool.store_flushed(*offset, words);
        }
        held.set_words(&self.space, &changes.words);
        for new in &changes.new {
            self.set_record(new.offset, new.place);
        }
        for object in &changes.freed {
            self.set_record(object.offset, 0);
            held.free_later(object.offset, object.record);
        }
    }

    /// Stores and flushes a record.
    #[inline]
    pub fn store_record(&self, place: u64, record: &Record) {
        self.space.pool.store_flushed(place, &record.encode(place));
    }
}

fn words_intent(changes: &Changes) -> Intent {
    let (pairs, count) = pairs_of(changes);
    Intent::Words {
        pairs,
        count,
        records: changes.new.len() as u64,
    }
}

fn slot_intent(changes: &Changes) -> Intent {
    let (pairs, count) = pairs_of(changes);
    let (range, check) = changes.fills[0];
    Intent::Slot {
        filled: Filled {
            offset: range.offset,
            len: range.len as u32,
            check: check.unwrap_or(0),
        },
        pairs,
        count,
    }
}

/// Returns the changed words as an intent has them, and their number.
fn pairs_of<const N: usize>(changes: &Changes) -> ([(u64, u64); N], usize) {
    let (mut pairs, count) = ([(0, 0); N], changes.words.len());
    pairs[..count].copy_from_slice(&changes.words);
    (pairs, count)
}

/// Returns the check that a record or intent has of an object or slot: of `bytes` bytes, a multiple
/// of 8, at `offset`.
pub(crate) fn check_of<M: Medium>(space: &Space<M>, offset: u64, bytes: u64) -> u32 {
    let mut sum = Checksum::new(offset);
    for at in (offset..offset + bytes).step_by(8) {
        sum.word(space.pool.medium.load_word(at));
    }
    sum.finish() as u32
}
