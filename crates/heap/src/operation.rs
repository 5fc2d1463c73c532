//! Operations: what is changed durably, wholly or not at all, with one fence (`FORMAT.md`, "Why
//! recovery is right").

use crate::allocator::nvwa::Nvwa;
use crate::allocator::{Allocator, Room, Space};
use crate::checksum::{Checksum, padded};
use crate::error::{Cause, Error, Result};
use crate::lane::window::Range;
use crate::lane::{Held, Lanes};
use crate::layout::intent::{Filled, INTENT_WORDS, Intent, MAX_PAIRS, MAX_SLOT_PAIRS};
use crate::layout::record::{CHECK_AT, MAX_BYTES, RECORD_BYTES, Record, UNIT};
use crate::medium::{LINE_BYTES, Medium, WORD_BYTES};

/// A pool with all that works on it.
pub(crate) struct Core<M> {
    pub space: Space<M>,
    pub allocator: Box<dyn Allocator<M>>,
    /// Finds room for what is gone when the pool is closed.
    pub capacity: Nvwa,
    pub lanes: Lanes,
}

/// An object that is to be reached from a word.
pub(crate) struct Publication<'a> {
    /// The word that will hold the pointer. The caller holds off all others that would change it.
    pub destination: u64,
    /// The upper 16 bits of the pointer.
    pub upper: u16,
    /// What the object is.
    pub kind: u8,
    /// What it holds.
    pub contents: Contents<'a>,
}

/// What a new object holds.
pub(crate) enum Contents<'a> {
    /// These, one after the other, each filled with zeros to a whole word.
    Parts(&'a [&'a [u8]]),
    /// So many zeros.
    Zeros(u64),
}

impl Contents<'_> {
    fn bytes(&self) -> u64 {
        match self {
            Contents::Parts(parts) => {
                let padded = |part: &&[u8]| part.len().next_multiple_of(8) as u64;
                parts.iter().map(padded).sum()
            }
            Contents::Zeros(bytes) => *bytes,
        }
    }
}

/// An object in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    pub offset: u64,
    /// Bytes of its slot.
    pub bytes: u64,
    /// Where its record is.
    pub record: u64,
}

impl Object {
    pub fn range(&self) -> Range {
        Range {
            offset: self.offset,
            len: self.bytes,
        }
    }

    /// The word that, when it is 0, makes the object free.
    pub fn check_word(&self) -> u64 {
        self.record + CHECK_AT
    }
}

impl<M: Medium> Core<M> {
    /// Makes a new object and has the destination point to it; says at which offset it is.
    ///
    /// # Errors
    ///
    /// There is no room, or a fence failed.
    pub fn publish(&self, new: &Publication) -> Result<u64> {
        self.with_room(|| {
            let mut held = self.hold();
            held.settle_others(&self.space, &[Range::word(new.destination)])?;
            self.publish_held(&mut held, new)
        })
    }

    /// Does something once more if the pool was full and compaction has made room. The caller holds
    /// no lane.
    ///
    /// # Errors
    ///
    /// What `work` returns; the pool is damaged, or a fence failed.
    #[inline]
    pub fn with_room<R>(&self, mut work: impl FnMut() -> Result<R>) -> Result<R> {
        match work() {
            Err(error) if error.cause == Cause::Full => match self.compact()? {
                0 => Err(error),
                _ => work(),
            },
            done => done,
        }
    }

    /// As [`Core::publish`] by the next operation of a lane, and if the pool is full it is. The caller
    /// has settled what other lanes may do again to the destination.
    ///
    /// # Errors
    ///
    /// As [`Core::publish`].
    #[inline]
    pub fn publish_held(&self, held: &mut Held, new: &Publication) -> Result<u64> {
        let space = &self.space;
        let bytes = new.contents.bytes().next_multiple_of(UNIT);
        let room = self.reserve(held, bytes)?;
        let place = match held.take_record(space) {
            Ok(place) => place,
            Err(error) => {
                self.unmake(held, room.offset);
                return Err(error);
            }
        };
        let record = Record {
            object: room.offset,
            upper: new.upper,
            destination: new.destination,
            lane: held.index as u8,
            kind: new.kind,
            sequence: held.next(),
            bytes: (bytes <= MAX_BYTES).then_some(bytes),
            of_intent: false,
            contents: self.fill(&room, &new.contents)?,
        };
        self.store_record(place, &record);
        let object = Range {
            offset: room.offset,
            len: bytes,
        };
        held.fence(space, &[Range::word(new.destination), object])?;
        held.set_words(space, &[(new.destination, record.pointer())]);
        self.set_record(room.offset, place);
        Ok(room.offset)
    }

    /// Changes at most three words, one less if an object is freed with them. The caller holds off
    /// all others that would change these or use the object.
    ///
    /// # Errors
    ///
    /// There is no such object, or a fence failed.
    pub fn change(&self, words: &[(u64, u64)], freed: Option<u64>) -> Result<()> {
        let mut held = self.hold();
        let mut touched = [Range::word(0); MAX_PAIRS];
        for (range, &(offset, _)) in touched.iter_mut().zip(words) {
            *range = Range::word(offset);
        }
        let mut count = words.len();
        let freed = freed.map(|offset| self.object(offset)).transpose()?;
        if let Some(object) = freed {
            touched[count] = object.range();
            count += 1;
        }
        held.settle_others(&self.space, &touched[..count])?;
        self.change_held(&mut held, words, freed)
    }

    /// As [`Core::change`] by the next operation of a lane, which was held since the object was
    /// looked for. The caller has settled what other lanes may do again to the words and the object.
    ///
    /// # Errors
    ///
    /// A fence failed.
    #[inline]
    pub fn change_held(
        &self,
        held: &mut Held,
        words: &[(u64, u64)],
        freed: Option<Object>,
    ) -> Result<()> {
        let mut pairs = [(0, 0); MAX_PAIRS];
        let mut count = words.len();
        pairs[..count].copy_from_slice(words);
        if let Some(object) = freed {
            pairs[count] = (object.check_word(), 0);
            count += 1;
        }
        let effects = pairs.map(|(offset, _)| Range::word(offset));
        let records = 0;
        let intent = Intent::Words {
            pairs,
            count,
            records,
        };
        self.store_intent(held, &intent);
        held.fence(&self.space, &effects[..count])?;
        held.set_words(&self.space, &pairs[..count]);
        if let Some(object) = freed {
            self.free(held, object);
        }
        Ok(())
    }

    /// Fills a slot of an object, at which nobody looks, and changes at most two words by which it
    /// comes to be seen: one line besides those of the slot and the words. The caller holds off all
    /// others that would change either. Each part is filled with zeros to a whole word.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn fill_slot(&self, at: u64, parts: &[&[u8]], words: &[(u64, u64)]) -> Result<()> {
        let pool = &self.space.pool;
        let len = Contents::Parts(parts).bytes();
        let slot = Range { offset: at, len };
        let mut held = self.hold();
        if held.last_names(slot) {
            self.pass(&mut held)?;
        }
        let mut ranges = [slot; 1 + MAX_SLOT_PAIRS];
        let mut pairs = [(0, 0); MAX_SLOT_PAIRS];
        pairs[..words.len()].copy_from_slice(words);
        for (range, &(offset, _)) in ranges[1..].iter_mut().zip(words) {
            *range = Range::word(offset);
        }
        let ranges = &ranges[..=words.len()];
        held.settle_others(&self.space, ranges)?;
        let (mut next, mut sum) = (at, Checksum::new(at));
        for part in parts {
            pool.store_padded(next, part);
            sum.bytes(part);
            next += part.len().next_multiple_of(8) as u64;
        }
        pool.medium.flush(at, len);
        let intent = Intent::Slot {
            filled: Filled {
                offset: at,
                len: len as u32,
                check: sum.finish() as u32,
            },
            pairs,
            count: words.len(),
        };
        self.store_intent(&mut held, &intent);
        held.fence(&self.space, ranges)?;
        held.set_words(&self.space, words);
        Ok(())
    }

    /// Makes durable what was changed past all operations.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn persist(&self, offset: u64, len: u64) -> Result<()> {
        self.space.pool.medium.flush(offset, len);
        self.hold()
            .settle_all_of(&self.space, Range { offset, len })?;
        self.space.pool.medium.fence()
    }

    /// An operation that changes nothing: what the one before has changed is durable after it.
    fn pass(&self, held: &mut Held) -> Result<()> {
        let intent = Intent::Words {
            pairs: [(0, 0); MAX_PAIRS],
            count: 0,
            records: 0,
        };
        self.store_intent(held, &intent);
        held.fence(&self.space, &[])
    }

    /// An object is no longer in use, by the operation that is under way.
    pub fn free(&self, held: &mut Held, object: Object) {
        self.set_record(object.offset, 0);
        held.free_later(object.offset, object.record);
    }

    /// Makes all effects durable, and says that none needs to be done again.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn close(&self) -> Result<()> {
        self.lanes.settle(&self.space)?;
        self.space.pool.medium.end()
    }

    /// Holds a lane, with everything that may be used again given back.
    #[inline]
    pub fn hold(&self) -> Held<'_> {
        let mut held = self.lanes.hold();
        while let Some(freed) = held.next_freed() {
            self.unmake(&mut held, freed.object);
            held.give_record(&self.space, freed.record);
        }
        held
    }

    /// Room for an object; where there is none, what is free but was not given back is looked for.
    ///
    /// # Errors
    ///
    /// There is no room, or a fence failed.
    #[inline]
    pub fn reserve(&self, held: &mut Held, bytes: u64) -> Result<Room> {
        let cache = &mut held.state.cache;
        match self.allocator.reserve(&self.space, cache, bytes) {
            Err(error) if error.cause == Cause::Full => {
                self.reclaim();
                self.allocator.reserve(&self.space, cache, bytes)
            }
            reserved => reserved,
        }
    }

    /// Gives chunks back of which nothing is in use.
    pub fn reclaim(&self) {
        self.allocator.reclaim(&self.space);
        self.capacity.reclaim(&self.space);
    }

    /// Makes an object that nobody can reach, of an even number of words; says at which offset. A
    /// commit has to make it durable, or [`Core::unmake`] must take it back.
    ///
    /// # Errors
    ///
    /// There is no room, or a fence failed.
    pub fn make(&self, held: &mut Held, words: &[u64]) -> Result<u64> {
        debug_assert!(!words.is_empty() && words.len().is_multiple_of(2));
        let room = self.reserve(held, words.len() as u64 * WORD_BYTES)?;
        self.space.pool.store_words(room.offset, words);
        Ok(room.offset)
    }

    /// Takes an object back that nobody could reach.
    pub fn unmake(&self, held: &mut Held, object: u64) {
        let cache = &mut held.state.cache;
        self.allocator.release(&self.space, cache, object);
    }

    /// Stores and flushes what a new object holds, and says the check of that if a record can have
    /// one. What is too long for that is made durable here.
    fn fill(&self, room: &Room, contents: &Contents) -> Result<Option<u32>> {
        let pool = &self.space.pool;
        let parts = match contents {
            Contents::Parts(parts) => parts,
            Contents::Zeros(_) if room.fresh => return Ok(None),
            Contents::Zeros(bytes) => {
                pool.zero(room.offset, bytes.next_multiple_of(UNIT));
                pool.medium.fence()?;
                return Ok(None);
            }
        };
        let mut at = room.offset;
        let mut sum = Checksum::new(room.offset);
        for part in *parts {
            pool.store_padded(at, part);
            sum.bytes(part);
            at += part.len().next_multiple_of(8) as u64;
        }
        if !at.is_multiple_of(UNIT) {
            pool.store_words(at, &[0]);
            sum.word(padded(&[]));
            at += WORD_BYTES;
        }
        pool.medium.flush(room.offset, at - room.offset);
        if at - room.offset > MAX_BYTES {
            pool.medium.fence()?;
            return Ok(None);
        }
        Ok(Some(sum.finish() as u32))
    }

    /// Stores and flushes a record.
    #[inline]
    pub fn store_record(&self, place: u64, record: &Record) {
        self.space.pool.store_words(place, &record.encode(place));
        self.space.pool.medium.flush(place, RECORD_BYTES);
    }

    /// Stores and flushes the intent of the next operation.
    #[inline]
    pub fn store_intent(&self, held: &mut Held, intent: &Intent) {
        let pool = &self.space.pool;
        let at = pool.geometry.intent_of(held.index, held.state.intents);
        held.state.intents += 1;
        let words: [u64; INTENT_WORDS] = intent.encode(at, held.next());
        pool.store_words(at, &words);
        pool.medium.flush(at, LINE_BYTES);
    }

    /// Remembers where the record of an object is; 0 if it has none.
    #[inline]
    pub fn set_record(&self, object: u64, place: u64) {
        let chunk = self.space.pool.geometry.chunk_of(object);
        if let Some(run) = self.space.index.get(chunk)
            && let Some(slot) = run.slot_at(object)
        {
            run.set_record(slot, place);
        }
    }

    /// The object that begins at an offset. Where its record lies is certain while a lane is held:
    /// compaction holds all.
    ///
    /// # Errors
    ///
    /// None does.
    #[inline]
    pub fn object(&self, offset: u64) -> Result<Object> {
        let chunk = self.space.pool.geometry.chunk_of(offset);
        let run = self.space.index.get(chunk);
        let found = run.filter(|run| !run.capacity).and_then(|run| {
            let record = run.record(run.slot_at(offset)?);
            let bytes = run.slot_bytes();
            (record != 0).then_some(Object {
                offset,
                bytes,
                record,
            })
        });
        found.ok_or_else(|| Error::damaged(format!("no object begins at {offset} of the pool")))
    }
}

/// The check of an object or slot as a record or intent has it: of `bytes` bytes, a multiple of 8, at
/// `offset`.
pub(crate) fn check_of<M: Medium>(space: &Space<M>, offset: u64, bytes: u64) -> u32 {
    let mut sum = Checksum::new(offset);
    for at in (offset..offset + bytes).step_by(8) {
        sum.word(space.pool.medium.load_word(at));
    }
    sum.finish() as u32
}
