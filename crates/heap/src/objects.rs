//! Objects that a program reaches by its own pointers: published in a word, read, changed and
//! freed; and objects that it changes directly at their address, as programs in other languages do.

use std::mem;
use std::sync::atomic::{Ordering, fence};

use bytemuck::Pod;

use crate::allocator::index::Holds;
use crate::containers::emptied::is_container;
use crate::error::{Error, Result, ensure};
use crate::heap::Heap;
use crate::lane::Held;
use crate::lane::window::Range;
use crate::layout::root::{ROOT_BYTES, ROOT_CHECK_AT, Root};
use crate::medium::{Medium, WORD_BYTES};
use crate::operation::{Core, Operation};
use crate::ptr::{Place, Ptr};
use crate::sink::{Contents, Sink};
use crate::transaction::{Hint, Transaction};

/// An object in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectInfo {
    /// Offset in the pool.
    pub offset: u64,
    /// Bytes of its slot.
    pub bytes: u64,
}

impl<M: Medium> Heap<M> {
    /// Makes an object and stores the pointer to it in `place`, durably: 2 lines besides those of
    /// the object, one fence. After a crash both have happened, or neither.
    ///
    /// # Errors
    ///
    /// `place` is not null, or lies in no object or root; this thread is within a transaction of
    /// the heap; the pool is full, or a fence failed.
    pub fn publish<T: Pod>(&self, place: Place<T>, value: &T) -> Result<Ptr<T>> {
        self.publish_contents(place, &Contents::Parts(&[bytemuck::bytes_of(value)]))
    }

    /// Same as [`Heap::publish`], for bytes; the object is filled with zeros to a multiple of 16.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::publish`].
    pub fn publish_bytes(&self, place: Place<u8>, bytes: &[u8]) -> Result<Ptr<u8>> {
        self.publish_contents(place, &Contents::Parts(&[bytes]))
    }

    /// Same as [`Heap::publish`], for an object of `bytes` zeros; one more fence. The object may be
    /// changed directly ([`Heap::persist`]).
    ///
    /// # Errors
    ///
    /// Same as [`Heap::publish`].
    pub fn publish_zeros(&self, place: Place<u8>, bytes: u64) -> Result<Ptr<u8>> {
        self.expect_room(bytes)?;
        self.publish_contents(place, &Contents::Zeros(bytes.max(1)))
    }

    fn publish_contents<T>(&self, place: Place<T>, contents: &Contents) -> Result<Ptr<T>> {
        self.expect_alone()?;
        let place = place.offset();
        let pointer = self.read(Place::<u8>::at(place))?;
        ensure(pointer.is_null(), || {
            Error::usage(format!("the word at {place} points to an object already"))
        })?;
        self.change(Range::word(place), |operation| {
            let object = operation.make(contents)?;
            operation.set(place, object)?;
            Ok(Ptr::at(object))
        })
    }

    /// Frees the object to which `place` points and makes `place` null, durably: 3 lines, one
    /// fence. After a crash both have happened, or neither. Does nothing if `place` is null. If
    /// `place` is the root of a container, all that it owns is freed, as by [`Heap::remove`].
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
        if let Some(kind) = self.container_at(place.offset(), pointer.offset()) {
            return self.free_container(place.offset(), kind);
        }
        self.change(Range::word(place.offset()), |operation| {
            let object = operation.object(pointer.offset())?;
            operation.own(&[object.range()])?;
            operation.set(place.offset(), 0)?;
            operation.free(object.offset)
        })
    }

    /// Returns the kind of the container whose root lies there and points to its table, if it is
    /// one.
    fn container_at(&self, place: u64, pointer: u64) -> Option<u16> {
        let space = &self.core().space;
        let holds = space.index.holds(space.pool.geometry.chunk_of(place));
        if holds != Holds::Roots || !place.is_multiple_of(ROOT_BYTES) {
            return None;
        }
        let root = Root::decode(place, &space.pool.load_words(place))?;
        is_container(self, root.kind, pointer).then_some(root.kind)
    }

    /// Changes one word, durably: 2 lines, one fence.
    ///
    /// # Errors
    ///
    /// The word lies in no object or root; this thread is within a transaction of the heap, or a
    /// fence failed.
    pub fn set(&self, at: Ptr<u64>, value: u64) -> Result<()> {
        self.expect_alone()?;
        self.change(Range::word(at.offset()), |operation| {
            operation.set(at.offset(), value)
        })
    }

    /// Carries out one operation that changes bytes of an object or root, which no guard protects.
    fn change<R>(&self, range: Range, work: impl Fn(&mut Operation<M>) -> Result<R>) -> Result<R> {
        let core = self.core();
        core.with_room(|| {
            let mut operation = Operation::begin(core, None)?;
            core.expect_object(operation.held(), range)?;
            operation.own(&[range])?;
            let done = work(&mut operation)?;
            operation.commit()?;
            Ok(done)
        })
    }

    /// Returns a copy of the value at a pointer.
    ///
    /// # Errors
    ///
    /// The pointer is null, the value is not wholly in the pool, or it lies in capacity.
    pub fn read<T: Pod>(&self, at: Ptr<T>) -> Result<T> {
        let mut value = T::zeroed();
        self.read_bytes(at.cast(), bytemuck::bytes_of_mut(&mut value))?;
        Ok(value)
    }

    /// Same as [`Heap::read`], for bytes; `at` is a multiple of 8.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::read`].
    pub fn read_bytes(&self, at: Ptr<u8>, into: &mut [u8]) -> Result<()> {
        self.expect_open()?;
        ensure(!at.is_null(), || {
            Error::usage("a null pointer points to nothing")
        })?;
        let len = into.len().next_multiple_of(8) as u64;
        self.core()
            .space
            .pool
            .check(at.offset(), len, "a pointer")?;
        self.load_stable(at.offset(), into)
    }

    /// Changes bytes of an object through the log, durably, wholly or not at all: one fence.
    ///
    /// # Errors
    ///
    /// The bytes do not lie in an object; this thread is within a transaction of the heap; there is
    /// no room for the log, or a fence failed.
    pub fn write_bytes(&self, at: Ptr<u8>, bytes: &[u8]) -> Result<()> {
        self.expect_alone()?;
        self.transaction(|tx| tx.write_bytes(at.offset(), bytes, Hint::BySize))
    }

    /// Loads bytes of the pool that are not capacity, and were not when they were loaded: a program
    /// may change capacity at any time.
    ///
    /// # Errors
    ///
    /// The bytes are capacity.
    pub(crate) fn load_stable(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let space = &self.core().space;
        let geometry = &space.pool.geometry;
        let last = offset + (into.len() as u64).max(1) - 1;
        let chunks = geometry.chunk_of(offset)..=geometry.chunk_of(last);
        let expect = || {
            let is_capacity = |chunk| space.index.holds(chunk) == Holds::Capacity;
            ensure(!chunks.clone().any(is_capacity), || {
                Error::usage(format!(
                    "capacity lies at {offset} of the pool, which is read at its address"
                ))
            })
        };
        expect()?;
        space.pool.medium.load(offset, into);
        space.pool.medium.expect_there()?;
        fence(Ordering::Acquire);
        expect()
    }

    /// Returns all objects in use, in the order of their offsets. Changes that other threads make
    /// meanwhile may be missing.
    ///
    /// # Errors
    ///
    /// The heap was closed, or this is a child of the process that opened the heap.
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

    /// Returns the object that begins at a pointer.
    ///
    /// # Errors
    ///
    /// No object begins there.
    pub fn object<T>(&self, at: Ptr<T>) -> Result<ObjectInfo> {
        self.expect_open()?;
        let core = self.core();
        let found = core.object(&core.hold(), at.offset())?;
        Ok(ObjectInfo {
            offset: found.offset,
            bytes: found.bytes,
        })
    }

    /// Changes the size of the object to which `place` points, durably. Nothing happens if its slot
    /// has room and is at most twice as large; otherwise the object moves: 4 lines besides its own,
    /// one fence. After a crash `place` points to it at its old or its new place, and the other
    /// place is free. The contents are kept as far as they fit; new bytes are zeros if the object
    /// moved and undefined if it did not.
    ///
    /// # Errors
    ///
    /// `place` points to no object; this thread is within a transaction of the heap; there is no
    /// room, or a fence failed.
    pub fn resize(&self, place: Place<u8>, bytes: u64) -> Result<Ptr<u8>> {
        self.expect_alone()?;
        self.transaction(|tx| tx.resize(place, bytes))
    }

    /// Makes direct changes durable; of several words any may become durable before the others. One
    /// fence, and two more if one of the last operations changed the same bytes.
    ///
    /// Only the words of roots, and objects made by [`Heap::publish_zeros`] or in a transaction
    /// that announces it ([`Transaction::change_directly`]), may be changed directly: the heap
    /// keeps a check of the first contents of all others, and after a crash recovery could take a
    /// changed object for one that was never completed.
    ///
    /// # Errors
    ///
    /// The bytes are not wholly in the pool, or a fence failed.
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

    /// Checks that an object of this size could be in the pool at all.
    fn expect_room(&self, bytes: u64) -> Result<()> {
        let all = self.len();
        ensure(bytes <= all, || {
            Error::full(format!(
                "an object of {bytes} bytes is larger than the pool of {all}"
            ))
        })
    }

    /// Checks that the bytes lie in an object, or are the word of a root.
    ///
    /// # Errors
    ///
    /// The bytes lie elsewhere.
    pub(crate) fn expect_object(&self, range: Range) -> Result<()> {
        self.core().expect_object(&self.core().hold(), range)
    }
}

impl<M: Medium> Core<M> {
    /// Checks that the bytes lie in an object, or are the word of a root. That stays true while the
    /// lane is held, unless the program frees the object.
    ///
    /// # Errors
    ///
    /// The bytes lie elsewhere.
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
        ensure(fits, || {
            Error::usage(format!(
                "no object has {len} bytes at {offset} of the pool, nor is a root's word there"
            ))
        })
    }
}

impl<M: Medium> Transaction<'_, M> {
    /// Makes an object of `bytes` zeros, which may be changed directly
    /// ([`Transaction::change_directly`]).
    ///
    /// # Errors
    ///
    /// Same as [`Transaction::alloc`].
    pub fn alloc_zeros(&self, bytes: u64) -> Result<Ptr<u8>> {
        self.heap().expect_room(bytes)?;
        self.change_directly()?;
        self.make_object(&Contents::Zeros(bytes)).map(Ptr::at)
    }

    /// Same as [`Heap::resize`], at the commit.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::resize`].
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
            // The transaction may go on without the object.
            self.free(new)?;
            return Err(error);
        }
        self.free(old)?;
        Ok(new)
    }
}

const _: () = assert!(mem::size_of::<Ptr<u8>>() as u64 == WORD_BYTES);
