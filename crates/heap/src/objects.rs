//! Objects that a program reaches by pointers of its own: published in a word, read, changed, freed;
//! and those that it changes directly, at their address, as programs in other languages do.

use std::mem;
use std::sync::atomic::{Ordering, fence};

use bytemuck::Pod;

use crate::allocator::index::Holds;
use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::lane::Held;
use crate::lane::window::Range;
use crate::layout::root::{ROOT_BYTES, ROOT_CHECK_AT};
use crate::medium::{Medium, WORD_BYTES};
use crate::operation::{Core, Operation};
use crate::ptr::{Place, Ptr};
use crate::sink::{Contents, Sink};
use crate::transaction::{Hint, Transaction};

/// An object in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectInfo {
    /// Where it lies.
    pub offset: u64,
    /// Bytes of its slot.
    pub bytes: u64,
}

impl<M: Medium> Heap<M> {
    /// Makes an object, durably, and has `place` point to it: 2 lines besides those of the object,
    /// one fence. After a crash both are so, or the object never was.
    ///
    /// # Errors
    ///
    /// `place` points to something already, or lies in no object or root; this thread is within a
    /// transaction of the heap; there is no room, or a fence failed.
    pub fn publish<T: Pod>(&self, place: Place<T>, value: &T) -> Result<Ptr<T>> {
        let contents = Contents::Parts(&[bytemuck::bytes_of(value)]);
        self.publish_contents(place.offset(), &contents)
            .map(Ptr::at)
    }

    /// Same as [`Heap::publish`], of bytes, filled with zeros to 16.
    ///
    /// # Errors
    ///
    /// As [`Heap::publish`].
    pub fn publish_bytes(&self, place: Place<u8>, bytes: &[u8]) -> Result<Ptr<u8>> {
        let contents = Contents::Parts(&[bytes]);
        self.publish_contents(place.offset(), &contents)
            .map(Ptr::at)
    }

    /// Same as [`Heap::publish`], of so many zeros; one more fence. The object may be changed directly
    /// ([`Heap::persist`]).
    ///
    /// # Errors
    ///
    /// As [`Heap::publish`].
    pub fn publish_zeros(&self, place: Place<u8>, bytes: u64) -> Result<Ptr<u8>> {
        self.expect_room(bytes)?;
        let contents = Contents::Zeros(bytes.max(1));
        self.publish_contents(place.offset(), &contents)
            .map(Ptr::at)
    }

    fn publish_contents(&self, place: u64, contents: &Contents) -> Result<u64> {
        self.expect_alone()?;
        let pointer = self.read(Place::<u8>::at(place))?;
        if !pointer.is_null() {
            return Err(Error::usage(format!(
                "the word at {place} points to an object already"
            )));
        }
        self.change(Range::word(place), |operation| {
            let object = operation.make(contents)?;
            operation.set(place, object)?;
            Ok(object)
        })
    }

    /// Frees the object to which `place` points, and makes it null: 3 lines, one fence. After a
    /// crash both are so, or neither. If it is null nothing is done.
    ///
    /// # Errors
    ///
    /// `place` lies in no object or root, or does not point to an object; this thread is within a
    /// transaction of the heap, or a fence failed.
    pub fn free<T: 'static>(&self, place: Place<T>) -> Result<()> {
        self.expect_alone()?;
        let pointer = self.read(place)?;
        if pointer.is_null() {
            return Ok(());
        }
        self.change(Range::word(place.offset()), |operation| {
            let object = operation.object(pointer.offset())?;
            operation.own(&[object.range()])?;
            operation.set(place.offset(), 0)?;
            operation.free(object.offset)
        })
    }

    /// Changes one word, durably: 2 lines, one fence.
    ///
    /// # Errors
    ///
    /// It lies in no object or root; this thread is within a transaction of the heap, or a fence
    /// failed.
    pub fn set(&self, at: Ptr<u64>, value: u64) -> Result<()> {
        self.expect_alone()?;
        self.change(Range::word(at.offset()), |operation| {
            operation.set(at.offset(), value)
        })
    }

    /// One operation that changes bytes of an object or root, which are under no guard.
    fn change<R>(&self, range: Range, work: impl Fn(&mut Operation<M>) -> Result<R>) -> Result<R> {
        let core = self.core();
        core.with_room(|| {
            let mut operation = Operation::begin(core, None)?;
            operation.expect_object(range)?;
            operation.own(&[range])?;
            let done = work(&mut operation)?;
            operation.commit()?;
            Ok(done)
        })
    }

    /// A copy of what lies there.
    ///
    /// # Errors
    ///
    /// It is null, or not wholly in the pool; or it lies in capacity.
    pub fn read<T: Pod>(&self, at: Ptr<T>) -> Result<T> {
        let mut value = T::zeroed();
        self.read_bytes(at.cast(), bytemuck::bytes_of_mut(&mut value))?;
        Ok(value)
    }

    /// Same as [`Heap::read`], of bytes; `at` is a multiple of 8.
    ///
    /// # Errors
    ///
    /// As [`Heap::read`].
    pub fn read_bytes(&self, at: Ptr<u8>, into: &mut [u8]) -> Result<()> {
        self.expect_open()?;
        if at.is_null() {
            return Err(Error::usage("a null pointer points to nothing"));
        }
        let len = into.len().next_multiple_of(8) as u64;
        self.core()
            .space
            .pool
            .check(at.offset(), len, "a pointer")?;
        self.load_stable(at.offset(), into)
    }

    /// Changes bytes of an object, durably, wholly or not at all: through the log, one fence.
    ///
    /// # Errors
    ///
    /// They do not lie in an object; this thread is within a transaction of the heap; there is no room
    /// for the log, or a fence failed.
    pub fn write_bytes(&self, at: Ptr<u8>, bytes: &[u8]) -> Result<()> {
        self.expect_alone()?;
        self.transaction(|tx| tx.write_bytes(at.offset(), bytes, Hint::BySize))
    }

    /// Loads bytes of the pool that are no capacity, and were none when they were loaded: a program may
    /// change that at any time, without a word.
    ///
    /// # Errors
    ///
    /// They are.
    pub(crate) fn load_stable(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let space = &self.core().space;
        let geometry = &space.pool.geometry;
        let (first, last) = (
            geometry.chunk_of(offset),
            geometry.chunk_of(offset + (into.len() as u64).max(1) - 1),
        );
        let expect = || {
            let is_capacity = |chunk| space.index.holds(chunk) == Holds::Capacity;
            match (first..=last).any(is_capacity) {
                false => Ok(()),
                true => Err(Error::usage(format!(
                    "capacity lies at {offset} of the pool, which is read at its address"
                ))),
            }
        };
        expect()?;
        space.pool.medium.load(offset, into);
        fence(Ordering::Acquire);
        expect()
    }

    /// All objects in use, in the order of their offsets. While others work, it may miss some of
    /// what they do.
    ///
    /// # Errors
    ///
    /// The heap was closed, or this is a child of the process that opened it.
    pub fn objects(&self) -> Result<Vec<ObjectInfo>> {
        self.expect_open()?;
        let core = self.core();
        let (space, _held) = (&core.space, core.hold());
        let mut objects = Vec::new();
        for chunk in 1..space.pool.used() {
            let Some(run) = space.run_from(chunk).filter(|run| !run.capacity) else {
                continue;
            };
            let used = (0..run.slots()).filter(|&slot| run.record(slot) != 0);
            objects.extend(used.map(|slot| ObjectInfo {
                offset: run.offset_of(slot),
                bytes: run.slot_bytes(),
            }));
        }
        Ok(objects)
    }

    /// The object that begins there.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn object<T>(&self, at: Ptr<T>) -> Result<ObjectInfo> {
        self.expect_open()?;
        let core = self.core();
        let found = core.object(&core.hold(), at.offset())?;
        Ok(ObjectInfo {
            offset: found.offset,
            bytes: found.bytes,
        })
    }

    /// Makes the object to which `place` points larger or smaller, durably. Where its slot has room,
    /// and is not more than twice as large, nothing is done; otherwise it moves: 4 lines besides its
    /// own, one fence. After a crash `place` points to it at its old or at its new place, and the
    /// other one is free. It holds the same, as far as that fits; what is new is zeros where it moved
    /// and anything where it did not.
    ///
    /// # Errors
    ///
    /// `place` points to no object; this thread is within a transaction of the heap; there is no room,
    /// or a fence failed.
    pub fn resize(&self, place: Place<u8>, bytes: u64) -> Result<Ptr<u8>> {
        self.expect_alone()?;
        self.transaction(|tx| tx.resize(place, bytes))
    }

    /// Makes durable what was changed directly; of more than one word any may be durable before the
    /// others. One fence, and two more if one of the last operations changed the same.
    ///
    /// Only roots' words, and objects made by [`Heap::publish_zeros`] or in a transaction that says so
    /// ([`Transaction::change_directly`]), may be changed directly: of others a check of what they held
    /// when they were made is kept, and a crash could take them for objects that were never whole.
    ///
    /// # Errors
    ///
    /// It is not wholly in the pool, or a fence failed.
    pub fn persist(&self, offset: u64, len: u64) -> Result<()> {
        self.expect_open()?;
        let first = offset & !7;
        let end = offset
            .checked_add(len)
            .and_then(|end| end.checked_next_multiple_of(8));
        let words = end.unwrap_or(u64::MAX) - first;
        let core = self.core();
        let pool = &core.space.pool;
        pool.check(first, words, "what was changed")?;
        let held = core.hold_open()?;
        pool.medium.flush(first, words);
        let range = Range {
            offset: first,
            len: words,
        };
        held.own_past_operations(&core.space, range)?;
        pool.medium.fence()
    }

    /// Whether an object of this size could be in the pool at all.
    fn expect_room(&self, bytes: u64) -> Result<()> {
        let all = self.len();
        match bytes <= all {
            true => Ok(()),
            false => Err(Error::full(format!(
                "an object of {bytes} bytes is larger than the pool of {all}"
            ))),
        }
    }

    /// Whether these bytes lie in an object, or are the word of a root.
    ///
    /// # Errors
    ///
    /// They do not.
    pub(crate) fn expect_object(&self, range: Range) -> Result<()> {
        self.core().expect_object(&self.core().hold(), range)
    }
}

impl<M: Medium> Core<M> {
    /// Whether these bytes lie in an object, or are the word of a root. They do as long as the lane is
    /// held, if nobody frees the object.
    ///
    /// # Errors
    ///
    /// They do not.
    pub fn expect_object(&self, _: &Held, range: Range) -> Result<()> {
        let Range { offset, len } = range;
        let space = &self.space;
        space.pool.check(offset, len, "a pointer")?;
        let chunk = space.pool.geometry.chunk_of(offset);
        let fits = match space.index.holds(chunk) {
            Holds::Roots => {
                let is_place = len == WORD_BYTES && offset.is_multiple_of(ROOT_BYTES);
                is_place && space.pool.medium.load_word(offset + ROOT_CHECK_AT) != 0
            }
            Holds::Objects => space.index.get(chunk).is_some_and(|run| {
                let slot = run.slot_with(offset, len);
                slot.is_some_and(|slot| run.record(slot) != 0)
            }),
            Holds::Own | Holds::Capacity => false,
        };
        match fits {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "no object has {len} bytes at {offset} of the pool, nor is a root's word there"
            ))),
        }
    }
}

impl<M: Medium> Operation<'_, M> {
    /// Same as [`Core::expect_object`].
    ///
    /// # Errors
    ///
    /// As [`Core::expect_object`].
    fn expect_object(&self, range: Range) -> Result<()> {
        let (core, held) = self.parts();
        core.expect_object(held, range)
    }
}

impl<M: Medium> Transaction<'_, M> {
    /// Makes an object of so many zeros, which may be changed directly
    /// ([`Transaction::change_directly`]).
    ///
    /// # Errors
    ///
    /// As [`Transaction::alloc`].
    pub fn alloc_zeros(&self, bytes: u64) -> Result<Ptr<u8>> {
        self.heap().expect_room(bytes)?;
        self.change_directly()?;
        self.make_object(&Contents::Zeros(bytes)).map(Ptr::at)
    }

    /// Same as [`Heap::resize`], at the commit.
    ///
    /// # Errors
    ///
    /// As [`Heap::resize`].
    pub fn resize(&self, place: Place<u8>, bytes: u64) -> Result<Ptr<u8>> {
        self.heap().expect_room(bytes)?;
        let old = self.read(place)?;
        let room = self.bytes_of(old)?;
        if bytes <= room && (bytes > room / 2 || room <= 32) {
            return Ok(old);
        }
        let mut contents = vec![0; bytes as usize];
        let kept = room.min(bytes) as usize;
        self.read_bytes(old.offset(), &mut contents[..kept])?;
        let new = Ptr::at(self.alloc_bytes(&contents)?);
        if let Err(error) = self.write(place, &new) {
            // The transaction may go on without it.
            self.free(new)?;
            return Err(error);
        }
        self.free(old)?;
        Ok(new)
    }
}

const _: () = assert!(mem::size_of::<Ptr<u8>>() as u64 == WORD_BYTES);
