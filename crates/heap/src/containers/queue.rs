//! A persistent log queue: elements come at the back and go at the front.
//!
//! The head is an object of 64 bytes: magic, bytes of an element and elements of a segment, how many
//! elements ever went and ever came, and pointers to the first and the last segment. A segment is a
//! pointer to the next one and, from the next line on, its elements, each filled to a whole word. Element `n` of all that
//! ever came is in slot `n` modulo the slots of a segment. A segment whose elements have all gone is
//! freed with the first element of the next one that goes, so that this is a single operation, and
//! the last segment always stays.
//!
//! Any number of threads can use a queue at the same time; those that change it take turns. What is
//! done to a queue, except by a batch, happens at once, also within a transaction.

mod batch;

use std::marker::PhantomData;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytemuck::Pod;

use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::medium::{LINE_BYTES, Mapped, Medium};
use crate::operation::{Contents, Publication};
use crate::pool::Pool;

use super::words::Source;

pub use batch::Batch;

/// The kind of a root that is a queue's.
const ROOT_KIND: u16 = 3;
/// "TERRQUEU".
const MAGIC: u64 = u64::from_le_bytes(*b"TERRQUEU");
/// Bytes of a segment, if that is enough for [`MIN_SLOTS`].
const SEGMENT_BYTES: u64 = 4096;
/// The fewest slots of a segment.
const MIN_SLOTS: u64 = 4;
/// Where in a segment its slots begin.
const SLOTS_AT: u64 = LINE_BYTES;

/// Where in a head the numbers and pointers are that change.
const GONE_AT: u64 = 16;
const CAME_AT: u64 = 24;
const FIRST_AT: u64 = 32;
const LAST_AT: u64 = 40;

/// A head.
type Head = [u64; 8];

/// A persistent queue of `T`, plain data.
pub struct Queue<T, M: Medium = Mapped> {
    heap: Heap<M>,
    /// Offset of the head.
    head: u64,
    /// Slots of a segment.
    slots: u64,
    /// Whoever changes the queue holds off all others.
    turn: RwLock<()>,
    of: PhantomData<fn() -> T>,
}

/// All elements of a queue; see [`Queue::iter`].
pub struct Iter<'q, T, M: Medium> {
    queue: &'q Queue<T, M>,
    /// Number of the next element, and the segment in which it is, 0 if that is not known.
    next: u64,
    segment: u64,
    /// Nothing follows an error.
    failed: bool,
}

impl<T: Pod, M: Medium> Queue<T, M> {
    /// Bytes from one element to the next.
    const STRIDE: u64 = size_of::<T>().next_multiple_of(8) as u64;

    /// The queue of this name; it is made if there is none.
    ///
    /// A queue that is open must not be opened again: locks are this one's own.
    ///
    /// # Errors
    ///
    /// The root of this name is something else, or a queue of other elements; the queue is damaged;
    /// there is no room, or a fence failed.
    pub fn open(heap: &Heap<M>, name: &str) -> Result<Self> {
        const { assert!(size_of::<T>() > 0, "elements have bytes") };
        let place = heap.root::<Head>(name, ROOT_KIND)?;
        let mut at = heap.read(place)?;
        if at.is_null() {
            let slots = ((SEGMENT_BYTES - SLOTS_AT) / Self::STRIDE).max(MIN_SLOTS);
            let shape = size_of::<T>() as u64 | slots << 32;
            at = heap.publish(place, &[MAGIC, shape, 0, 0, 0, 0, 0, 0])?;
        }
        let [magic, shape, gone, came, ..] = heap.read(at)?;
        let (bytes, slots) = (shape as u32 as usize, shape >> 32);
        // No more elements than the pool has room for, so that nothing goes on without end.
        let most = heap.len() / Self::STRIDE;
        if magic != MAGIC || slots == 0 || gone > came || came - gone > most {
            return Err(Error::damaged("a queue's head is damaged"));
        }
        if bytes != size_of::<T>() {
            return Err(Error::usage(format!(
                "the queue {name:?} has elements of {bytes} bytes, not {}",
                size_of::<T>()
            )));
        }
        Ok(Self {
            heap: heap.clone(),
            head: at.offset(),
            slots,
            turn: RwLock::new(()),
            of: PhantomData,
        })
    }

    /// Elements that there are.
    pub fn len(&self) -> u64 {
        let _reading = self.read();
        self.word(CAME_AT).saturating_sub(self.word(GONE_AT))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an element at the back, durably: 2 lines besides its own, one fence; and now and then a
    /// segment.
    ///
    /// # Errors
    ///
    /// There is no room, the queue is damaged, or a fence failed.
    pub fn push(&self, value: &T) -> Result<()> {
        let _writing = self.write();
        let came = self.word(CAME_AT);
        let last = self.word(LAST_AT);
        let after = came.checked_add(1).ok_or_else(damaged)?;
        let mut words = [(self.head + CAME_AT, after), (self.head + LAST_AT, last)];
        let mut changed = 1;
        if came.is_multiple_of(self.slots) {
            words[1].1 = self.segment_behind(last)?;
            changed = 2;
        }
        if words[1].1 == 0 {
            return Err(damaged());
        }
        let at = self.slot(words[1].1, came);
        self.pool().check(at, Self::STRIDE, "a queue")?;
        let parts = [bytemuck::bytes_of(value)];
        self.heap.core().fill_slot(at, &parts, &words[..changed])
    }

    /// Removes the element at the front, durably, and says what it was: 2 lines, one fence; with the
    /// first one of a segment another 2 lines, as the segment before is freed.
    ///
    /// # Errors
    ///
    /// The queue is damaged, or a fence failed.
    pub fn pop(&self) -> Result<Option<T>> {
        let _writing = self.write();
        let gone = self.word(GONE_AT);
        if gone >= self.word(CAME_AT) {
            return Ok(None);
        }
        let first = self.word(FIRST_AT);
        let segment = self.front_segment(self.pool(), gone, first)?;
        let value = self.pool().get(self.slot(segment, gone))?;
        let words = [
            (self.head + GONE_AT, gone + 1),
            (self.head + FIRST_AT, segment),
        ];
        match segment == first {
            true => self.heap.core().change(&words[..1], None)?,
            false => self.heap.core().change(&words, Some(first))?,
        }
        Ok(Some(value))
    }

    /// The element at the front.
    ///
    /// # Errors
    ///
    /// The queue is damaged.
    pub fn front(&self) -> Result<Option<T>> {
        self.iter().next().transpose()
    }

    /// All elements from the front to the back. Each is read as it is when its turn comes; those
    /// that go meanwhile are left out.
    pub fn iter(&self) -> Iter<'_, T, M> {
        Iter {
            queue: self,
            next: 0,
            segment: 0,
            failed: false,
        }
    }

    /// The offset of each object of the queue as often as it is reached, for checks.
    ///
    /// # Errors
    ///
    /// The queue is damaged.
    pub fn objects(&self) -> Result<Vec<u64>> {
        let _reading = self.read();
        // A crash may have left a segment behind the last one.
        let most = self.word(CAME_AT).saturating_sub(self.word(GONE_AT)) / self.slots + 4;
        let mut objects = vec![self.head];
        let mut at = self.word(FIRST_AT);
        while at != 0 {
            if objects.len() as u64 > most {
                return Err(damaged());
            }
            objects.push(at);
            at = self.pool().get(at)?;
        }
        Ok(objects)
    }

    /// The segment in which the element at the front is.
    fn front_segment(&self, from: &impl Source, gone: u64, first: u64) -> Result<u64> {
        let segment = match gone > 0 && gone.is_multiple_of(self.slots) {
            true => from.get(first)?,
            false => first,
        };
        match segment {
            0 => Err(damaged()),
            _ => Ok(segment),
        }
    }

    /// The segment behind the last one; it is made if there is none.
    fn segment_behind(&self, last: u64) -> Result<u64> {
        let destination = match last {
            0 => self.head + FIRST_AT,
            _ => last,
        };
        match self.pool().get(destination)? {
            0 => self.heap.core().publish(&Publication {
                destination,
                upper: 0,
                kind: 0,
                contents: Contents::Zeros(self.segment_bytes()),
            }),
            segment => Ok(segment),
        }
    }

    fn segment_bytes(&self) -> u64 {
        SLOTS_AT + self.slots * Self::STRIDE
    }

    /// Where an element of a segment lies.
    fn slot(&self, segment: u64, number: u64) -> u64 {
        segment.saturating_add(SLOTS_AT + number % self.slots * Self::STRIDE)
    }

    /// A word of the head.
    fn word(&self, at: u64) -> u64 {
        self.pool().medium.load_word(self.head + at)
    }

    fn read(&self) -> RwLockReadGuard<'_, ()> {
        self.turn.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ()> {
        self.turn.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn pool(&self) -> &Pool<M> {
        &self.heap.core().space.pool
    }
}

impl<T: Pod, M: Medium> Iter<'_, T, M> {
    fn advance(&mut self) -> Result<Option<T>> {
        let queue = self.queue;
        let _reading = queue.read();
        let gone = queue.word(GONE_AT);
        if self.segment == 0 || self.next < gone {
            self.next = gone;
            self.segment = 0;
        }
        if self.next >= queue.word(CAME_AT) {
            return Ok(None);
        }
        if self.segment == 0 {
            self.segment = queue.front_segment(queue.pool(), gone, queue.word(FIRST_AT))?;
        } else if self.next.is_multiple_of(queue.slots) {
            self.segment = queue.pool().get(self.segment)?;
            if self.segment == 0 {
                return Err(damaged());
            }
        }
        let value = queue.pool().get(queue.slot(self.segment, self.next))?;
        self.next += 1;
        Ok(Some(value))
    }
}

impl<T: Pod, M: Medium> Iterator for Iter<'_, T, M> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let found = self.advance();
        self.failed = found.is_err();
        found.transpose()
    }
}

fn damaged() -> Error {
    Error::damaged("a queue is damaged: a segment is missing, or has no end")
}
