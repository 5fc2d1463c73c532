//! A persistent queue: elements are pushed at the back and popped at the front. `log` describes how
//! it lies in the pool.

mod checked;
mod compact;
mod iter;
mod layout;
mod log;
mod old;
mod opened;
mod salvage;
mod sums;

use std::any::Any;
use std::marker::PhantomData;

use crate::error::{Result, ensure};
use crate::guard::Guard;
use crate::heap::Heap;
use crate::layout::Geometry;
use crate::medium::{Mapped, Medium};
use crate::ptr::Place;
use crate::sink::Source;
use crate::transaction::held::Guarded;

use super::compacting::Compacting;
use super::container::{Handle, container};
use super::data::Value;
use super::emptying::Emptying;
use super::inspecting::Inspecting;
use super::types::Types;

pub use iter::Iter;
pub use opened::Opened;
pub(super) use salvage::salvage_into;

pub(super) use layout::DESCRIBED;
use layout::{HEAD_WORDS, MAGIC, UNDESCRIBED};
use log::Log;

/// The kind of the root of a queue.
pub(super) const ROOT_KIND: u16 = 3;
/// The magic numbers of heads.
pub(super) const MAGICS: &[u64] = &[MAGIC, UNDESCRIBED];

/// Returns the queue with a head, whose type is not known.
pub(super) fn unknown<M: Medium>(
    head: u64,
    geometry: &Geometry,
    guard: Guard,
) -> impl Emptying + Inspecting + Compacting + Guarded<M> + Any + use<M> {
    Log::new(head, geometry, guard)
}

/// A persistent queue of `T`.
///
/// A clone, or the same name opened again, is another handle of the same queue. Any number of
/// threads can use a queue at the same time; writers take turns. Within a transaction it is used
/// through [`Transaction::open`](crate::Transaction::open).
///
/// ```
/// use terrace_heap::containers::Queue;
/// use terrace_heap::{Heap, Result};
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(4 << 20)?;
///     let jobs = Queue::<str>::open(&heap, "jobs")?;
///     jobs.push("wash")?;
///     jobs.push("cook")?;
///     assert_eq!(jobs.pop()?.as_deref(), Some("wash"));
///     assert_eq!(jobs.len()?, 1);
///     Ok(())
/// }
/// ```
pub struct Queue<T: ?Sized, M: Medium = Mapped> {
    log: Handle<Log, M>,
    of: PhantomData<fn(&T)>,
}

container!(Queue.log, [T], [T: ?Sized], [T: Value + ?Sized]);

impl<T: Value + ?Sized, M: Medium> Queue<T, M> {
    /// Opens the queue of this name; makes it if there is none. A queue of format version 1 or 2 is
    /// converted, for which the pool needs room for both.
    ///
    /// A queue of format version 1 to 3 has no record of its type. It records that with which it is
    /// opened first.
    ///
    /// # Errors
    ///
    /// The root of this name is not a queue, or one that holds another type; the queue is damaged;
    /// this thread is within a transaction; the pool is full, or a fence failed.
    pub fn open(heap: &Heap<M>, name: &str) -> Result<Self> {
        let types = Types::of_elements::<T>()?;
        let log = Handle::open(heap, name, ROOT_KIND, |root: Place<[u64; HEAD_WORDS]>| {
            let pool = &heap.core().space.pool;
            let new = |head, made| Log::new(head, &pool.geometry, Guard::new(made));
            let words = Log::new_head::<T>(&types);
            let (mut head, made) = heap.find_or_make_table(root, &words, sums::sealed)?;
            if let Some(bytes) = old::size(&pool.words(head)?) {
                ensure(T::BYTES == Some(bytes), || log::of_others(name))?;
                head = heap.convert(root, head, |sink, head| {
                    old::convert::<T, _>(sink, head, &types, |head| new(head, None))
                })?;
            }
            let mut log = new(head, made);
            if !DESCRIBED.expect(pool, head, name, &types)? {
                log.check::<T>(pool, name)?;
                log.head = DESCRIBED.record(heap, root, head, &types)?;
            }
            Ok(log)
        })?;
        log.read(0, |pool| {
            DESCRIBED.expect(pool, log.head, name, &types)?;
            log.check::<T>(pool, name)
        })?;
        let of = PhantomData;
        Ok(Self { log, of })
    }

    /// Returns the number of elements.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap.
    pub fn len(&self) -> Result<u64> {
        self.log.read(0, |pool| self.log.len(pool))
    }

    /// Returns whether it is empty.
    ///
    /// # Errors
    ///
    /// Same as [`Queue::len`].
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Adds an element at the back, durably: 2 lines besides its own, one fence; now and then a new
    /// segment.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; the pool is full, the queue is damaged, or
    /// a fence failed.
    pub fn push(&self, value: &T) -> Result<()> {
        let bytes = value.encode()?;
        self.log.write(|sink| self.log.push(sink, &bytes))
    }

    /// Removes the element at the front, durably, and returns it. 2 lines, one fence; a few more
    /// for the first element of a segment, because the segment before is freed.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; the queue is damaged, or a fence failed.
    pub fn pop(&self) -> Result<Option<T::Owned>> {
        self.log.write(|sink| self.log.pop::<T, _>(sink))
    }

    /// Removes all elements, durably, and frees all that they own, in steps of some hundred with
    /// one fence each. No other thread sees a part of them gone, and what a crash leaves of them is
    /// freed when the pool is opened next.
    ///
    /// # Errors
    ///
    /// Same as [`Queue::pop`].
    pub fn clear(&self) -> Result<()> {
        self.log.clear(|_, _| ())
    }

    /// Returns the element at the front.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap, or the queue is damaged.
    pub fn front(&self) -> Result<Option<T::Owned>> {
        self.iter().next().transpose()
    }

    /// Returns an iterator over the elements from the front to the back. Each is read when its turn
    /// comes; elements that are popped meanwhile are left out.
    pub fn iter(&self) -> Iter<'_, T, M> {
        Iter::new(self, None)
    }

    /// Returns the offset of each object of the queue once for each time it is reached, for checks.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap, or the queue is damaged.
    #[doc(hidden)]
    pub fn objects(&self) -> Result<Vec<u64>> {
        self.log.read(0, |pool| self.log.objects(pool))
    }
}
