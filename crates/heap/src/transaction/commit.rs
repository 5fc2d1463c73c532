//! The commit of a transaction: one operation of a lane.

use crate::error::{Error, Result};
use crate::lane::Held;
use crate::lane::log::{Need, OBJECT_ENTRY, WORD_ENTRY};
use crate::lane::stamp::Stamp;
use crate::lane::window::Range;
use crate::layout::intent::{Commit, Intent, MAX_PAIRS, MAX_RECORDS};
use crate::layout::record::{MAX_BYTES, Record};
use crate::medium::{LINE_BYTES, Medium, WORD_BYTES};
use crate::operation::{Core, Object, check_of};

use super::State;

/// What a commit changes, sorted out.
#[derive(Default)]
pub(crate) struct Changes<'a> {
    /// Single words; the commit adds those that make records none.
    pub words: Vec<(u64, u64)>,
    pub objects: Vec<(u64, &'a [u64])>,
    /// New objects and their bytes.
    pub new: Vec<(u64, u64)>,
    /// Whether their records say what they hold, so that they need no fence of their own.
    pub checked: bool,
    /// Offsets of objects that are no longer in use.
    pub freed: Vec<u64>,
}

impl<'a> Changes<'a> {
    pub(super) fn new(state: &'a State) -> Self {
        Self {
            words: state.writes.words().collect(),
            objects: state.writes.objects().collect(),
            new: state.new.iter().map(|(&at, &len)| (at, len)).collect(),
            checked: !state.direct,
            freed: state.freed.iter().copied().collect(),
        }
    }

    fn is_empty(&self) -> bool {
        let words = self.words.is_empty() && self.objects.is_empty();
        words && self.new.is_empty() && self.freed.is_empty()
    }

    /// Whether the intent has room for all, without a log.
    fn is_small(&self) -> bool {
        let few = self.words.len() <= MAX_PAIRS && self.new.len() as u64 <= MAX_RECORDS;
        few && self.objects.is_empty()
    }

    fn need(&self) -> Need {
        let words = |(_, words): &(u64, &[u64])| words.len() as u64 * WORD_BYTES;
        Need {
            words: self.words.len() as u64 * WORD_ENTRY,
            objects: self.objects.len() as u64 * OBJECT_ENTRY,
            data: self.objects.iter().map(words).sum(),
        }
    }

    /// What is changed in place.
    fn changed(&self) -> impl Iterator<Item = Range> {
        let words = self.words.iter().map(|&(offset, _)| Range::word(offset));
        let objects = self.objects.iter().map(|&(offset, words)| Range {
            offset,
            len: words.len() as u64 * WORD_BYTES,
        });
        words.chain(objects)
    }

    /// Whatever is named by the operation until it is settled.
    fn ranges(&self) -> Vec<Range> {
        let new = self.new.iter().map(|&(offset, len)| Range { offset, len });
        self.changed().chain(new).collect()
    }
}

impl<'h> State<'h> {
    /// Carries out what was done so far, by a lane that takes over from these operations, and says
    /// by which one, if anything was done. If that fails, it can still be undone.
    pub(super) fn commit<M: Medium>(
        &mut self,
        core: &'h Core<M>,
        last: &[Stamp],
    ) -> Result<Option<Stamp>> {
        let done = match self.in_place.take() {
            Some(mut in_place) => {
                let done = in_place.commit(core, last, &mut Changes::new(self));
                if done.is_err() {
                    self.in_place = Some(in_place);
                }
                done.map(Some)
            }
            None => {
                let mut held = core.hold();
                held.take_over(&core.space, last)?;
                core.commit(&mut held, &mut Changes::new(self))
            }
        }?;
        self.new.clear();
        Ok(done)
    }
}

impl<M: Medium> Core<M> {
    /// Carries changes out as the next operation of a lane, and says which one it is, if there are
    /// any.
    ///
    /// # Errors
    ///
    /// What is freed is no object, there is no room for the log, or a fence failed.
    pub(crate) fn commit(&self, held: &mut Held, changes: &mut Changes) -> Result<Option<Stamp>> {
        if changes.is_empty() {
            return Ok(None);
        }
        let freed = self.make_none(changes)?;
        self.settle_others(held, changes, &freed)?;
        self.log_and_carry_out(held, changes, &freed).map(Some)
    }

    /// As [`Core::commit`] of changes of which the caller has settled what other lanes may do again
    /// to them, and of which there are some.
    ///
    /// # Errors
    ///
    /// As [`Core::commit`].
    pub(crate) fn commit_held(&self, held: &mut Held, changes: &mut Changes) -> Result<Stamp> {
        let freed = self.make_none(changes)?;
        self.log_and_carry_out(held, changes, &freed)
    }

    /// As `commit`, for what was changed in place: an intent is needed even if nothing is left to
    /// change.
    ///
    /// # Errors
    ///
    /// There is no room in the log, which still holds what may have to be put back; what is freed is
    /// no object, or a fence failed.
    pub(super) fn commit_in_place(&self, held: &mut Held, changes: &mut Changes) -> Result<Stamp> {
        let freed = self.make_none(changes)?;
        if !changes.is_small() && !held.state.log.has(changes.need()) {
            return Err(Error::usage(
                "a transaction that changes objects in place frees more than its log holds",
            ));
        }
        self.settle_others(held, changes, &freed)?;
        self.carry_out(held, changes, &freed)
    }

    /// Adds the words that make the records of freed objects none, and has all in ascending order. A
    /// lane is held, so that they stay where they are.
    fn make_none(&self, changes: &mut Changes) -> Result<Vec<Object>> {
        let freed = changes.freed.iter().map(|&offset| self.object(offset));
        let freed: Vec<Object> = freed.collect::<Result<_>>()?;
        let none = freed.iter().map(|object| (object.check_word(), 0));
        changes.words.extend(none);
        changes.words.sort_unstable();
        Ok(freed)
    }

    /// Settles what other lanes may do again to what is changed or freed.
    fn settle_others(&self, held: &Held, changes: &Changes, freed: &[Object]) -> Result<()> {
        let freed = freed.iter().map(Object::range);
        let touched: Vec<Range> = changes.changed().chain(freed).collect();
        held.settle_others(&self.space, &touched)
    }

    /// Nothing of what is named is done again by other lanes.
    fn log_and_carry_out(
        &self,
        held: &mut Held,
        changes: &Changes,
        freed: &[Object],
    ) -> Result<Stamp> {
        if !changes.is_small() {
            held.make_room(&self.space, changes.need())?;
        }
        self.carry_out(held, changes, freed)
    }

    /// As `log_and_carry_out`, where there is room in the log.
    fn carry_out(&self, held: &mut Held, changes: &Changes, freed: &[Object]) -> Result<Stamp> {
        let places = self.take_places(held, changes.new.len())?;
        self.store_new(held, changes, &places)?;
        let intent = self.intent(held, changes);
        self.store_intent(held, &intent);
        held.fence(&self.space, &changes.ranges())?;
        self.apply(changes);
        for (&(object, _), &place) in changes.new.iter().zip(&places) {
            self.set_record(object, place);
        }
        for &object in freed {
            self.free(held, object);
        }
        Ok(held.last())
    }

    /// Places for records; all of them, or none.
    fn take_places(&self, held: &mut Held, count: usize) -> Result<Vec<u64>> {
        let mut places = Vec::with_capacity(count);
        for _ in 0..count {
            match held.take_record(&self.space) {
                Ok(place) => places.push(place),
                Err(error) => {
                    held.state.records.extend(places);
                    return Err(error);
                }
            }
        }
        Ok(places)
    }

    /// Flushes new objects, and stores their records, which are valid only with the intent.
    fn store_new(&self, held: &Held, changes: &Changes, places: &[u64]) -> Result<()> {
        let pool = &self.space.pool;
        for &(object, len) in &changes.new {
            pool.medium.flush(object, len);
        }
        let checked = |len: u64| changes.checked && len <= MAX_BYTES;
        if !changes.new.iter().all(|&(_, len)| checked(len)) {
            // Their records cannot vouch for them.
            pool.medium.fence()?;
        }
        for (&(object, len), &place) in changes.new.iter().zip(places) {
            let record = Record {
                object,
                upper: 0,
                destination: 0,
                lane: held.index as u8,
                kind: 0,
                sequence: held.next(),
                bytes: (len <= MAX_BYTES).then_some(len),
                of_intent: true,
                contents: checked(len).then(|| check_of(&self.space, object, len)),
            };
            pool.store_words(place, &record.encode(place));
        }
        self.flush_lines(places.iter().copied());
        Ok(())
    }

    fn intent(&self, held: &mut Held, changes: &Changes) -> Intent {
        let records = changes.new.len() as u64;
        if changes.is_small() {
            let mut pairs = [(0, 0); MAX_PAIRS];
            let count = changes.words.len();
            pairs[..count].copy_from_slice(&changes.words);
            return Intent::Words {
                pairs,
                count,
                records,
            };
        }
        let objects = changes.objects.iter().copied();
        let commit = held.log(&self.space, &changes.words, objects);
        Intent::Commit(Commit { records, ..commit })
    }

    /// Changes in place what was committed, and flushes it.
    fn apply(&self, changes: &Changes) {
        let pool = &self.space.pool;
        for &(offset, words) in &changes.objects {
            pool.store_words(offset, words);
            pool.medium.flush(offset, words.len() as u64 * WORD_BYTES);
        }
        for &(offset, value) in &changes.words {
            pool.medium.store_word(offset, value);
        }
        self.flush_lines(changes.words.iter().map(|&(offset, _)| offset));
    }

    /// Flushes the lines in which these lie; those that follow each other in one line, once.
    fn flush_lines(&self, offsets: impl Iterator<Item = u64>) {
        let mut last = None;
        for offset in offsets {
            let line = Some(offset / LINE_BYTES);
            if last != line {
                self.space.pool.medium.flush(offset, WORD_BYTES);
            }
            last = line;
        }
    }
}
