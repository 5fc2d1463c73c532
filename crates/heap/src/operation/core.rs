//! What all operations of a heap share: the pool, its allocators and its lanes.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::allocator::nvwa::Nvwa;
use crate::allocator::run::Run;
use crate::allocator::{Allocator, Room, Space};
use crate::checksum::{Checksum, padded};
use crate::error::{Cause, Error, Result, ensure};
use crate::lane::changes::{Check, New, Object};
use crate::lane::{Held, Lanes};
use crate::layout::record::{MAX_BYTES, UNIT};
use crate::medium::{Medium, WORD_BYTES};
use crate::sink::Contents;

/// A pool, its allocators and its lanes.
pub(crate) struct Core<M> {
    pub space: Space<M>,
    pub allocator: Box<dyn Allocator<M>>,
    /// The allocator of capacity.
    pub capacity: Nvwa,
    pub lanes: Lanes,
    /// Whether the pool is open for writing, for reading, or closed: [`WRITING`] and so on.
    pub state: AtomicU8,
}

/// The pool is open for writing.
pub(crate) const WRITING: u8 = 0;
/// The pool is open for reading alone.
const READING: u8 = 1;
/// The pool was closed: nothing changes it any more.
const CLOSED: u8 = 2;

impl<M: Medium> Core<M> {
    /// Calls `work`, and calls it once more if the pool was full and compaction has made room. The
    /// caller holds no lane.
    ///
    /// # Errors
    ///
    /// What `work` returns; the pool is damaged, or a fence failed.
    #[inline]
    pub fn with_room<R>(&self, mut work: impl FnMut() -> Result<R>) -> Result<R> {
        match work() {
            Err(error) if error.cause() == Cause::Full => {
                // Even if no chunk of records became free, room that lanes have freed and could not
                // yet give back is free now.
                self.compact()?;
                work()
            }
            done => done,
        }
    }

    /// Makes all effects durable, and settles all operations. Nothing changes the pool after that.
    ///
    /// # Errors
    ///
    /// The pool was closed already, or a fence failed.
    pub fn close(&self) -> Result<()> {
        let _all = self.lanes.hold_all();
        let before = self.state.swap(CLOSED, Ordering::AcqRel);
        ensure(before != CLOSED, Error::closed)?;
        self.lanes.settle_held(&self.space)?;
        self.space.pool.medium.end()?;
        self.space.pool.mark_opened(false)
    }

    #[inline]
    pub fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSED
    }

    /// Refuses all changes from now on. Called before any other thread knows the pool.
    pub fn read_only(&self) {
        self.state.store(READING, Ordering::Release);
    }

    /// Returns whether the pool is open for reading alone.
    pub fn is_read_only(&self) -> bool {
        self.state.load(Ordering::Acquire) == READING
    }

    /// Checks that the pool is open for writing.
    ///
    /// # Errors
    ///
    /// It was closed, or is open for reading alone.
    #[inline]
    pub fn expect_writable(&self) -> Result<()> {
        match self.state.load(Ordering::Acquire) {
            WRITING => Ok(()),
            READING => Err(read_only()),
            _ => Err(Error::closed()),
        }
    }

    /// Same as [`Core::hold`], for changing the pool. That is refused after a failed fence: the
    /// kernel may yet write the stores of the operation that failed, and a new operation in its
    /// place would have stored over a part of them.
    ///
    /// # Errors
    ///
    /// The pool was closed, or a fence failed.
    // Always inlined, as `hold` is: a call would copy its result through memory.
    #[inline(always)]
    pub fn hold_open(&self) -> Result<Held<'_>> {
        let held = self.hold();
        self.expect_writable()?;
        self.space.pool.medium.outcome()?;
        Ok(held)
    }

    /// Holds a lane, after giving back all that it has freed and may be used again.
    #[inline(always)]
    pub fn hold(&self) -> Held<'_> {
        if self.space.index.is_cluttered() {
            self.free_runs();
        }
        let mut held = self.lanes.hold();
        while let Some(freed) = held.next_freed() {
            self.unmake(&mut held, freed.object);
            held.give_record(&self.space, freed.record);
        }
        held
    }

    /// Frees the runs that were forgotten. The caller holds no lane.
    #[cold]
    pub fn free_runs(&self) {
        let runs = self.space.index.take_forgotten();
        self.lanes.pass_by();
        drop(runs);
    }

    /// Takes room for an object; if there is none, first gives back what is free but was kept.
    ///
    /// # Errors
    ///
    /// The pool is full, or a fence failed.
    #[inline]
    fn reserve(&self, held: &mut Held, bytes: u64) -> Result<Room> {
        let cache = &mut held.state.cache;
        match self.allocator.reserve(&self.space, cache, bytes) {
            Err(error) if error.cause() == Cause::Full => {
                self.reclaim();
                self.allocator.reserve(&self.space, cache, bytes)
            }
            reserved => reserved,
        }
    }

    /// Gives back chunks that are wholly free.
    pub fn reclaim(&self) {
        self.allocator.reclaim(&self.space);
        self.capacity.reclaim(&self.space);
    }

    /// Makes an object to which nothing points yet. A commit makes it durable, or [`Core::unmake`]
    /// takes it back.
    ///
    /// # Errors
    ///
    /// The pool is full, or a fence failed.
    #[inline]
    pub fn make(&self, held: &mut Held, contents: &Contents) -> Result<New> {
        let len = contents.bytes().max(1).next_multiple_of(UNIT);
        let room = self.reserve(held, len)?;
        let check = match contents {
            Contents::Zeros(_) => self.zero(&room, len),
            Contents::Parts(parts) => self.store_parts::<false>(&room, len, parts),
            Contents::Checked(parts) => self.store_checked(&room, len, parts),
            Contents::Placed(_, words) => {
                let words = words(room.offset);
                self.store_placed(&room, len, &words)
            }
        };
        Ok(New {
            offset: room.offset,
            len,
            check,
            place: 0,
        })
    }

    /// Takes back an object to which nothing points.
    pub fn unmake(&self, held: &mut Held, object: u64) {
        let cache = &mut held.state.cache;
        self.allocator.release(&self.space, cache, object);
    }

    fn zero(&self, room: &Room, len: u64) -> Check {
        if room.fresh {
            return Check::Durable;
        }
        self.space.pool.zero(room.offset, len);
        Check::Flushed
    }

    /// Stores the contents of a new object of `len` bytes. Contents that are too long for a check
    /// in a record are fenced. If they are checked, their checksum comes behind them.
    #[inline(always)]
    fn store_parts<const CHECKED: bool>(&self, room: &Room, len: u64, parts: &[&[u8]]) -> Check {
        let mut sum = Checksum::new(room.offset);
        let mut at = self.store(room.offset, parts, &mut sum);
        if CHECKED {
            let check = sum.finish();
            self.space.pool.store_words(at, &[check]);
            sum.word(check);
            at += WORD_BYTES;
        }
        // At most one word, except for an object of no bytes.
        while at < room.offset + len {
            self.space.pool.store_words(at, &[0]);
            sum.word(padded(&[]));
            at += WORD_BYTES;
        }
        debug_assert_eq!(at, room.offset + len);
        match len <= MAX_BYTES {
            true => Check::Known(sum.finish() as u32),
            false => Check::ToBeFenced,
        }
    }

    #[inline(never)]
    fn store_checked(&self, room: &Room, len: u64, parts: &[&[u8]]) -> Check {
        self.store_parts::<true>(room, len, parts)
    }

    #[inline(never)]
    fn store_placed(&self, room: &Room, len: u64, words: &[u64]) -> Check {
        self.store_parts::<false>(room, len, &[bytemuck::cast_slice(words)])
    }

    /// Stores parts one after the other; returns the offset of their end.
    #[inline]
    pub(super) fn store(&self, mut at: u64, parts: &[&[u8]], sum: &mut Checksum) -> u64 {
        for part in parts {
            self.space.pool.store_padded(at, part);
            sum.bytes(part);
            at += part.len().next_multiple_of(8) as u64;
        }
        at
    }

    /// Notes the place of an object's record; 0 for none.
    #[inline]
    pub fn set_record(&self, object: u64, place: u64) {
        if let Some((run, slot)) = self.slot_of(object) {
            run.set_record(slot, place);
        }
    }

    /// Returns whether an object with a record lies at an offset: one that an operation has made.
    pub fn is_in_use(&self, _: &Held, offset: u64) -> bool {
        let chunk = self.space.pool.geometry.chunk_of(offset);
        let run = self.space.index.get(chunk);
        run.is_some_and(|run| {
            let slot = run.slot_with(offset, 0);
            slot.is_some_and(|slot| run.record(slot) != 0)
        })
    }

    /// Returns the run and the slot that begins at an offset.
    #[inline]
    fn slot_of(&self, offset: u64) -> Option<(&Run, usize)> {
        let run = self
            .space
            .index
            .get(self.space.pool.geometry.chunk_of(offset))?;
        Some((run, run.slot_at(offset)?))
    }

    /// Returns the object that begins at an offset. Where its record lies is certain while the lane
    /// is held: compaction holds all.
    ///
    /// # Errors
    ///
    /// There is none.
    #[inline]
    pub fn object(&self, _: &Held, offset: u64) -> Result<Object> {
        let slot = self.slot_of(offset).filter(|(run, _)| !run.capacity);
        let found = slot.map(|(run, slot)| Object {
            offset,
            bytes: run.slot_bytes(),
            record: run.record(slot),
        });
        let found = found.filter(|object| object.record != 0);
        found.ok_or_else(|| Error::damaged(format!("no object begins at {offset} of the pool")))
    }
}

#[cold]
fn read_only() -> Error {
    Error::usage("the pool is open for reading alone; open it for writing to change it")
}
