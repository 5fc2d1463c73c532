//! Transactions that change objects in place and keep the old contents in the log (undo).

use crate::allocator::Space;
use crate::checksum::Checksum;
use crate::error::{Error, Result};
use crate::lane::Held;
use crate::lane::log::{Need, UNDO_ENTRY};
use crate::lane::stamp::Stamp;
use crate::lane::window::Range;
use crate::layout::intent::Intent;
use crate::medium::{Medium, WORD_BYTES};
use crate::operation::Core;

use super::commit::Changes;

/// How much of the log such a transaction is sure to have, in bytes of each part: an eighth of 1 MiB
/// for entries, a quarter for data.
const ROOM: Need = Need {
    words: 0,
    objects: 128 << 10,
    data: 256 << 10,
};
/// So much will do where the pool is small.
const LITTLE_ROOM: Need = Need {
    words: 0,
    objects: 1 << 10,
    data: 2 << 10,
};

/// A lane, held for the whole transaction, and what to put back.
pub(super) struct InPlace<'h> {
    held: Held<'h>,
    /// Old words by offset of the first, in the order in which they were overwritten.
    old: Vec<(u64, Vec<u64>)>,
}

impl<'h> InPlace<'h> {
    /// Holds a lane with room in its log.
    pub fn begin<M: Medium>(core: &'h Core<M>) -> Result<Self> {
        let mut held = core.hold();
        held.make_room(&core.space, ROOM)
            .or_else(|_| held.make_room(&core.space, LITTLE_ROOM))?;
        let entries = held.state.log.objects();
        // Durable with the first entry, before which nothing is changed.
        core.store_intent(&mut held, &Intent::Undo { entries });
        let old = Vec::new();
        Ok(Self { held, old })
    }

    pub fn lane(&mut self) -> &mut Held<'h> {
        &mut self.held
    }

    /// Keeps the old words, durably, and changes them.
    pub fn write<M: Medium>(&mut self, space: &Space<M>, offset: u64, new: &[u64]) -> Result<()> {
        let pool = &space.pool;
        let len = new.len() as u64 * WORD_BYTES;
        let range = Range { offset, len };
        self.held.settle_others(space, &[range])?;
        let mut old = vec![0; new.len()];
        pool.medium.load(offset, bytemuck::cast_slice_mut(&mut old));
        let sequence = self.held.next();
        if !self.held.state.log.keep(space, sequence, offset, &old) {
            return Err(Error::usage(
                "a transaction that changes objects in place changes more than its log holds",
            ));
        }
        self.held.fence_effects(space)?;
        pool.store_words(offset, new);
        self.old.push((offset, old));
        Ok(())
    }

    fn flush<M: Medium>(&self, space: &Space<M>) {
        for (offset, old) in &self.old {
            let len = old.len() as u64 * WORD_BYTES;
            space.pool.medium.flush(*offset, len);
        }
    }

    /// What was changed becomes durable, then the intent that says that it stays; says of which
    /// operation it is, which takes over from these.
    pub fn commit<M: Medium>(
        &mut self,
        core: &Core<M>,
        last: &[Stamp],
        changes: &mut Changes,
    ) -> Result<Stamp> {
        self.held.take_over(&core.space, last)?;
        self.flush(&core.space);
        self.held.fence_effects(&core.space)?;
        core.commit_in_place(&mut self.held, changes)
    }

    /// Puts everything back. What cannot be made durable is put back by the next to open the pool.
    pub fn roll_back<M: Medium>(mut self, space: &Space<M>) {
        for (offset, old) in self.old.iter().rev() {
            space.pool.store_words(*offset, old);
        }
        self.flush(space);
        // An operation that changes nothing: the intent to undo is settled with it.
        let _ = self
            .held
            .fence(space, &[])
            .and_then(|()| self.held.settle(space));
    }
}

/// Undoes what the entries from an offset on say, if they are of this operation, and flushes it.
pub(crate) fn undo<M: Medium>(space: &Space<M>, entries: u64, sequence: u64) {
    let pool = &space.pool;
    let mut found = Vec::new();
    for at in (entries..).step_by(UNDO_ENTRY as usize) {
        if !pool.holds(at, UNDO_ENTRY) {
            break;
        }
        let [offset, len, data, of, check] = pool.load_words(at);
        let valid = of == sequence
            && pool.holds(offset, len)
            && pool.holds(data, len)
            && check_of_entry(space, at, [offset, len, data, of]) == check;
        if !valid {
            break;
        }
        found.push((offset, len, data));
    }
    for (offset, len, data) in found.into_iter().rev() {
        let mut bytes = vec![0; len as usize];
        pool.medium.load(data, &mut bytes);
        pool.medium.store(offset, &bytes);
        pool.medium.flush(offset, len);
    }
}

/// The check of an entry that undoes, and of its data.
pub(crate) fn check_of_entry<M: Medium>(space: &Space<M>, at: u64, entry: [u64; 4]) -> u64 {
    let [_, len, data, _] = entry;
    let mut sum = Checksum::new(at);
    entry.into_iter().for_each(|word| sum.word(word));
    for at in (data..data + len).step_by(8) {
        sum.word(space.pool.medium.load_word(at));
    }
    sum.finish()
}
