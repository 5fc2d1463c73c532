//! A persistent vector.
//!
//! Elements lie in segments of doubling sizes, so nothing ever moves. A new element is written behind the
//! last one, where nothing is read, and storing the number of elements makes it part of the vector: its
//! own lines, an intent and the number, with one fence. `layout` describes how a vector lies in the pool.

mod elements;
mod layout;
mod opened;

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::heap::Heap;
use crate::medium::{Mapped, Medium};
use crate::operation::Operation;
use crate::pool::Pool;
use crate::sink::{Contents, Sink, Source};

pub use opened::Opened;

use elements::Elements;
use layout::{Shape, TABLE_WORDS};

/// The kind of the root of a vector.
const ROOT_KIND: u16 = 2;

/// A persistent vector of `T`, plain data.
///
/// A clone, or the same name opened again, is another handle of the same vector. Any number of threads
/// can use a vector at the same time; writers take turns. Within a transaction it is used through
/// [`Transaction::open`](crate::Transaction::open).
///
/// ```
/// use terrace_heap::containers::Vector;
/// use terrace_heap::{Heap, Result};
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(4 << 20)?;
///     let samples = Vector::<[f32; 2]>::open(&heap, "samples")?;
///     samples.push(&[0.5, 1.5])?;
///     samples.set(0, &[2.0, 3.0])?;
///     assert_eq!((samples.len()?, samples.get(0)?), (1, Some([2.0, 3.0])));
///     Ok(())
/// }
/// ```
pub struct Vector<T, M: Medium = Mapped> {
    heap: Heap<M>,
    elements: Arc<Elements>,
    of: PhantomData<fn() -> T>,
}

impl<T, M: Medium> Clone for Vector<T, M> {
    fn clone(&self) -> Self {
        Self {
            heap: self.heap.clone(),
            elements: Arc::clone(&self.elements),
            of: PhantomData,
        }
    }
}

impl<T: Pod, M: Medium> Vector<T, M> {
    /// Opens the vector of this name; makes it if there is none.
    ///
    /// The pool keeps only the size of the type: always open a vector with the type with which it was
    /// made.
    ///
    /// # Errors
    ///
    /// The root of this name is not a vector, or one with elements of another size; the vector is
    /// damaged; this thread is within a transaction; the pool is full, or a fence failed.
    pub fn open(heap: &Heap<M>, name: &str) -> Result<Self> {
        const { assert!(size_of::<T>() > 0, "elements have bytes") };
        heap.expect_alone()?;
        let place = heap.root::<[u64; TABLE_WORDS]>(name, ROOT_KIND)?;
        let elements = heap.share(place.offset(), || {
            let pool = &heap.core().space.pool;
            let new = Shape::new(size_of::<T>(), &pool.geometry).encode();
            let (table, made) = heap.find_or_make(place, |sink| {
                sink.make(&Contents::Parts(&[bytemuck::cast_slice(&new)]))
            })?;
            Ok(Elements {
                table,
                shape: Shape::decode(&pool.words(table)?)?,
                guard: Guard::new(made),
            })
        })?;
        if elements.shape.element_bytes as usize != size_of::<T>() {
            return Err(Error::usage(format!(
                "the vector {name:?} has elements of {} bytes, not {}",
                elements.shape.element_bytes,
                size_of::<T>()
            )));
        }
        Ok(Self {
            heap: heap.clone(),
            elements,
            of: PhantomData,
        })
    }

    /// Returns the number of elements.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap.
    pub fn len(&self) -> Result<u64> {
        self.read(|pool| self.elements.len(pool))
    }

    /// Returns whether it is empty.
    ///
    /// # Errors
    ///
    /// Same as [`Vector::len`].
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Returns an element; `None` beyond the last one.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap, or the vector is damaged.
    pub fn get(&self, index: u64) -> Result<Option<T>> {
        self.read(|pool| self.elements.get(pool, index))
    }

    /// Sets the value of an element, durably: 2 lines and one fence for up to 8 bytes, through the log
    /// for more.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; there is no such element, the vector is
    /// damaged, or a fence failed.
    pub fn set(&self, index: u64, value: &T) -> Result<()> {
        self.write(|sink| self.elements.set(sink, index, value))
    }

    /// Adds an element behind the last one, durably: 2 lines besides its own, one fence; and now and
    /// then a segment.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; the pool is full, the vector is damaged, or a
    /// fence failed.
    pub fn push(&self, value: &T) -> Result<()> {
        self.write(|sink| self.elements.push(sink, value))
    }

    /// Removes the last element, durably, and returns it. 2 lines, one fence. Segments are kept for later
    /// elements.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; the vector is damaged, or a fence failed.
    pub fn pop(&self) -> Result<Option<T>> {
        self.write(|sink| self.elements.pop(sink))
    }

    /// Removes all elements from index `len` on, durably: 2 lines, one fence.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap, or a fence failed.
    pub fn truncate(&self, len: u64) -> Result<()> {
        self.write(|sink| self.elements.truncate(sink, len))
    }

    /// Returns an iterator over the elements in their order. Each is read when its turn comes.
    pub fn iter(&self) -> impl Iterator<Item = Result<T>> {
        (0..).map_while(|index| self.get(index).transpose())
    }

    /// Returns the offset of each object of the vector once for each time it is reached, for checks.
    ///
    /// # Errors
    ///
    /// Same as [`Vector::len`].
    #[doc(hidden)]
    pub fn objects(&self) -> Result<Vec<u64>> {
        self.read(|pool| self.elements.objects(pool))
    }

    fn read<R>(&self, work: impl FnOnce(&Pool<M>) -> Result<R>) -> Result<R> {
        self.heap.expect_alone()?;
        let _reading = self.elements.guard.read()?;
        work(&self.heap.core().space.pool)
    }

    fn write<R>(&self, work: impl Fn(&mut Operation<M>) -> Result<R>) -> Result<R> {
        self.heap.expect_alone()?;
        let mut writing = self.elements.guard.write()?;
        self.heap.operate(&mut writing, work)
    }
}
