//! A persistent vector.
//!
//! Elements lie in segments that double, so that nothing ever moves. A new element is written behind
//! the last one, where nobody looks, and the number of elements is what makes it part of the vector:
//! its own lines, an intent and the number, with one fence. `table` says where things lie.
//!
//! Any number of threads can use a vector at the same time; those that change it take turns.

mod batch;
mod table;

use std::marker::PhantomData;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytemuck::Pod;

use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::medium::{Mapped, Medium};
use crate::operation::{Contents, Publication};
use crate::pool::Pool;
use crate::transaction::Hint;

use super::words::Source;
use table::{Shape, TABLE_WORDS, directory_at, len_at};

pub use batch::Batch;

/// The kind of a root that is a vector's.
const ROOT_KIND: u16 = 2;

/// A persistent vector of `T`, plain data.
pub struct Vector<T, M: Medium = Mapped> {
    heap: Heap<M>,
    shape: Shape,
    /// Offset of the table.
    table: u64,
    /// Whoever changes the vector holds off all others.
    turn: RwLock<()>,
    of: PhantomData<fn() -> T>,
}

impl<T: Pod, M: Medium> Vector<T, M> {
    /// The vector of this name; it is made if there is none.
    ///
    /// A vector that is open must not be opened again: locks are this one's own.
    ///
    /// # Errors
    ///
    /// The root of this name is something else, or a vector of other elements; the vector is
    /// damaged; there is no room, or a fence failed.
    pub fn open(heap: &Heap<M>, name: &str) -> Result<Self> {
        const { assert!(size_of::<T>() > 0, "elements have bytes") };
        let place = heap.root::<[u64; TABLE_WORDS]>(name, ROOT_KIND)?;
        let geometry = &heap.core().space.pool.geometry;
        let mut table = heap.read(place)?;
        if table.is_null() {
            table = heap.publish(place, &Shape::new(size_of::<T>(), geometry).encode())?;
        }
        let shape = Shape::decode(&heap.read(table)?)?;
        if shape.element_bytes as usize != size_of::<T>() {
            return Err(Error::usage(format!(
                "the vector {name:?} has elements of {} bytes, not {}",
                shape.element_bytes,
                size_of::<T>()
            )));
        }
        Ok(Self {
            heap: heap.clone(),
            shape,
            table: table.offset(),
            turn: RwLock::new(()),
            of: PhantomData,
        })
    }

    /// Elements that there are.
    pub fn len(&self) -> u64 {
        self.pool().medium.load_word(len_at(self.table))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element; none beyond the last one.
    ///
    /// # Errors
    ///
    /// The vector is damaged.
    pub fn get(&self, index: u64) -> Result<Option<T>> {
        let _reading = self.read();
        self.get_from(self.pool(), index)
    }

    /// Gives an element another value, durably: up to 8 bytes 2 lines and one fence, more through
    /// the log.
    ///
    /// # Errors
    ///
    /// A transaction is under way, in which only a batch is allowed; there is no such element, the
    /// vector is damaged, or a fence failed.
    pub fn set(&self, index: u64, value: &T) -> Result<()> {
        let _writing = self.write_alone()?;
        let at = self.existing(self.pool(), index)?;
        let bytes = bytemuck::bytes_of(value);
        self.heap
            .transaction(|tx| tx.write_bytes(at, bytes, Hint::BySize))
    }

    /// Adds an element behind the last one, durably: 2 lines besides its own, one fence; and now and
    /// then a segment.
    ///
    /// # Errors
    ///
    /// A transaction is under way; there is no room, the vector is damaged, or a fence failed.
    pub fn push(&self, value: &T) -> Result<()> {
        let _writing = self.write_alone()?;
        let len = self.len();
        self.check_room(len)?;
        let position = self.shape.position(len);
        let destination = directory_at(self.table, position.segment);
        let mut segment = self.pool().medium.load_word(destination);
        if segment == 0 {
            segment = self.add_segment(destination, position.segment)?;
        }
        let at = segment.saturating_add(position.within * self.shape.stride());
        self.pool().check(at, self.shape.stride(), "a vector")?;
        let words = [(len_at(self.table), len + 1)];
        self.heap
            .core()
            .fill_slot(at, &[bytemuck::bytes_of(value)], &words)
    }

    /// Removes the last element, durably, and says what it was: 2 lines, one fence. Segments are
    /// kept for those that come.
    ///
    /// # Errors
    ///
    /// A transaction is under way, the vector is damaged, or a fence failed.
    pub fn pop(&self) -> Result<Option<T>> {
        let _writing = self.write_alone()?;
        let Some(last) = self.len().checked_sub(1) else {
            return Ok(None);
        };
        let value = self.get_from(self.pool(), last)?;
        self.set_len(last)?;
        Ok(value)
    }

    /// Removes all elements from this one on, durably: 2 lines, one fence.
    ///
    /// # Errors
    ///
    /// A transaction is under way, or a fence failed.
    pub fn truncate(&self, len: u64) -> Result<()> {
        let _writing = self.write_alone()?;
        match len < self.len() {
            true => self.set_len(len),
            false => Ok(()),
        }
    }

    /// All elements in their order. Each is read as it is when its turn comes.
    pub fn iter(&self) -> impl Iterator<Item = Result<T>> {
        (0..).map_while(|index| self.get(index).transpose())
    }

    /// The offset of each object of the vector as often as it is reached, for checks.
    ///
    /// # Errors
    ///
    /// The vector is damaged.
    pub fn objects(&self) -> Result<Vec<u64>> {
        let _reading = self.read();
        let words: [u64; TABLE_WORDS] = self.pool().get(self.table)?;
        let first = ((directory_at(self.table, 0) - self.table) / 8) as usize;
        let segments = words[first..].iter().copied().filter(|&at| at != 0);
        Ok([self.table].into_iter().chain(segments).collect())
    }

    /// Changes the number of elements, to one that there was.
    fn set_len(&self, len: u64) -> Result<()> {
        self.heap.core().change(&[(len_at(self.table), len)], None)
    }

    fn add_segment(&self, destination: u64, segment: u64) -> Result<u64> {
        self.heap.core().publish(&Publication {
            destination,
            upper: 0,
            kind: 0,
            contents: Contents::Zeros(self.segment_bytes(segment)),
        })
    }

    fn segment_bytes(&self, segment: u64) -> u64 {
        self.shape.elements_of(segment) * self.shape.stride()
    }

    fn check_room(&self, len: u64) -> Result<()> {
        match len < self.shape.capacity() {
            true => Ok(()),
            false => Err(Error::full("a vector has no room for more elements")),
        }
    }

    fn get_from(&self, source: &impl Source, index: u64) -> Result<Option<T>> {
        match index < source.get(len_at(self.table))? {
            true => source.get(self.at(source, index)?).map(Some),
            false => Ok(None),
        }
    }

    /// Where an element lies.
    fn existing(&self, source: &impl Source, index: u64) -> Result<u64> {
        let len: u64 = source.get(len_at(self.table))?;
        if index < len {
            return self.at(source, index);
        }
        Err(Error::usage(format!(
            "a vector of {len} elements has none of index {index}"
        )))
    }

    /// Where an element lies of which the segment is there.
    #[inline]
    fn at(&self, source: &impl Source, index: u64) -> Result<u64> {
        let damaged = || Error::damaged("a vector is damaged: a segment is missing");
        if index >= self.shape.capacity() {
            return Err(damaged());
        }
        let position = self.shape.position(index);
        let segment: u64 = source.get(directory_at(self.table, position.segment))?;
        if segment == 0 {
            return Err(damaged());
        }
        Ok(segment.saturating_add(position.within * self.shape.stride()))
    }

    fn read(&self) -> RwLockReadGuard<'_, ()> {
        self.turn.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ()> {
        self.turn.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// As `write`, for what is no part of a transaction.
    fn write_alone(&self) -> Result<RwLockWriteGuard<'_, ()>> {
        self.heap.expect_no_transaction("a vector")?;
        Ok(self.write())
    }

    fn pool(&self) -> &Pool<M> {
        &self.heap.core().space.pool
    }
}
