//! A persistent vector.
//!
//! Elements lie in segments of doubling sizes, so nothing moves when a vector grows. A new element
//! is written behind the last one, where nothing is read, and storing the number of elements makes
//! it part of the vector: its own lines, an intent and the number, with one fence. `layout`
//! describes how a vector lies in the pool.

mod compact;
mod elements;
mod layout;
mod opened;
mod sums;

use std::any::Any;
use std::marker::PhantomData;

use bytemuck::Pod;

use crate::error::{Error, Result, ensure};
use crate::guard::Guard;
use crate::heap::Heap;
use crate::medium::{Mapped, Medium};
use crate::pool::Pool;
use crate::ptr::Place;
use crate::sink::Source;
use crate::transaction::held::Guarded;

use super::compacting::Compacting;
use super::container::{Handle, container};
use super::emptying::Emptying;
use super::identity::Identity;
use super::inspecting::Inspecting;
use super::salvaging::{Found, Lost, guard, operate};
use super::types::Types;

pub use opened::Opened;

use elements::Elements;
pub(super) use layout::DESCRIBED;
use layout::{MAGIC, Shape, TABLE_WORDS};

/// The kind of the root of a vector.
pub(super) const ROOT_KIND: u16 = 2;
/// The magic numbers of tables.
pub(super) const MAGICS: &[u64] = &[MAGIC];

/// Returns the vector with a table, whose type is not known.
///
/// # Errors
///
/// The table is damaged.
pub(super) fn unknown<M: Medium>(
    pool: &Pool<M>,
    table: u64,
) -> Result<impl Emptying + Inspecting + Compacting + Guarded<M> + Any + use<M>> {
    Ok(Elements {
        table,
        shape: shape_of(pool, table)?,
        guard: Guard::new(None),
    })
}

/// Makes the vector of a root in a new heap, of the elements of a damaged one before the first that
/// cannot be read; returns how many these are.
///
/// # Errors
///
/// The new pool cannot grow, or a fence failed.
pub(super) fn salvage_into<M: Medium, N: Medium>(
    pool: &Pool<M>,
    found: &Found,
    heap: &Heap<N>,
    place: Place<u8>,
    lost: &mut Lost,
) -> Result<u64> {
    let geometry = &heap.core().space.pool.geometry;
    let shape = Shape::new(found.sizes()[0] as usize, geometry);
    let words = DESCRIBED.with_types(&shape.encode(), &found.types);
    let (table, _) = heap.find_or_make_table(place, &words, sums::sealed)?;
    let guard = guard();
    let new = Elements {
        table,
        shape,
        guard,
    };
    let old = shape_of(pool, found.table).map(|shape| Elements {
        table: found.table,
        shape,
        guard: Guard::new(None),
    });
    let len = old
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|old| old.len(pool));
    let (Ok(old), Ok(len)) = (&old, &len) else {
        let error = old.err().or(len.err());
        let why = error.map_or(String::new(), |error| error.to_string());
        lost.part(found.table, format!("{why}; all elements are lost"));
        return Ok(0);
    };
    for index in 0..*len {
        match old.bytes(pool, index) {
            Ok(bytes) => operate(heap, |sink| new.push_bytes(sink, &bytes))?,
            Err(error) => {
                let what = format!("{error}; it and all elements behind it are lost");
                lost.entry(found.table, what);
                lost.entries += len - index - 1;
                return Ok(index);
            }
        }
    }
    Ok(*len)
}

/// Returns the shape of the vector with a table.
///
/// # Errors
///
/// The table is damaged.
fn shape_of<M: Medium>(pool: &Pool<M>, table: u64) -> Result<Shape> {
    let (words, checked) = (pool.words(table)?, pool.geometry.checksums);
    if checked {
        sums::expect_table(table, &words)?;
    }
    Shape::decode(&words, checked)
}

/// A persistent vector of `T`, plain data.
///
/// A clone, or the same name opened again, is another handle of the same vector. Any number of
/// threads can use a vector at the same time; writers take turns. Within a transaction it is used
/// through [`Transaction::open`](crate::Transaction::open).
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
    elements: Handle<Elements, M>,
    of: PhantomData<fn() -> T>,
}

container!(Vector.elements, [T], [T], [T: Pod + Identity]);

impl<T: Pod + Identity, M: Medium> Vector<T, M> {
    /// Opens the vector of this name; makes it if there is none.
    ///
    /// A vector of format version 1 to 3 has no record of its type. It records that with which it
    /// is opened first.
    ///
    /// # Errors
    ///
    /// The root of this name is not a vector, or one that holds another type; the vector is
    /// damaged; this thread is within a transaction; the pool is full, or a fence failed.
    pub fn open(heap: &Heap<M>, name: &str) -> Result<Self> {
        const { assert!(size_of::<T>() > 0, "elements have bytes") };
        let types = Types::of_elements::<T>()?;
        let open = |root: Place<[u64; TABLE_WORDS]>| {
            let pool = &heap.core().space.pool;
            let new = Shape::new(size_of::<T>(), &pool.geometry).encode();
            let new = DESCRIBED.with_types(&new, &types);
            let (mut table, made) = heap.find_or_make_table(root, &new, sums::sealed)?;
            let shape = shape_of(pool, table)?;
            if !DESCRIBED.expect(pool, table, name, &types)? {
                expect_size::<T>(&shape, name)?;
                table = DESCRIBED.record(heap, root, table, &types)?;
            }
            Ok(Elements {
                table,
                shape,
                guard: Guard::new(made),
            })
        };
        let elements = Handle::open(heap, name, ROOT_KIND, open)?;
        DESCRIBED.expect(&heap.core().space.pool, elements.table, name, &types)?;
        expect_size::<T>(&elements.shape, name)?;
        let of = PhantomData;
        Ok(Self { elements, of })
    }

    /// Returns the number of elements.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap.
    pub fn len(&self) -> Result<u64> {
        self.elements.read(0, |pool| self.elements.len(pool))
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
        self.elements.read(0, |pool| self.elements.get(pool, index))
    }

    /// Sets the value of an element, durably: 2 lines and one fence for up to 8 bytes, through the
    /// log for more.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; there is no such element, the vector is
    /// damaged, or a fence failed.
    pub fn set(&self, index: u64, value: &T) -> Result<()> {
        self.elements
            .write(|sink| self.elements.set(sink, index, value))
    }

    /// Adds an element behind the last one, durably: 2 lines besides its own, one fence; and now
    /// and then a segment.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; the pool is full, the vector is damaged, or
    /// a fence failed.
    pub fn push(&self, value: &T) -> Result<()> {
        self.elements.write(|sink| self.elements.push(sink, value))
    }

    /// Removes the last element, durably, and returns it. 2 lines, one fence. Segments are kept for
    /// later elements.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; the vector is damaged, or a fence failed.
    pub fn pop(&self) -> Result<Option<T>> {
        self.elements.write(|sink| self.elements.pop(sink))
    }

    /// Removes all elements from index `len` on, durably: 2 lines, one fence.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap, or a fence failed.
    pub fn truncate(&self, len: u64) -> Result<()> {
        self.elements
            .write(|sink| self.elements.truncate(sink, len))
    }

    /// Removes all elements, durably, and frees their segments.
    ///
    /// # Errors
    ///
    /// Same as [`Vector::truncate`].
    pub fn clear(&self) -> Result<()> {
        self.elements.clear(|_, _| ())
    }

    /// Returns an iterator over the elements in their order. Each is read when its turn comes.
    pub fn iter(&self) -> impl Iterator<Item = Result<T>> {
        (0..).map_while(|index| self.get(index).transpose())
    }

    /// Returns the offset of each object of the vector once for each time it is reached, for
    /// checks.
    ///
    /// # Errors
    ///
    /// Same as [`Vector::len`].
    #[doc(hidden)]
    pub fn objects(&self) -> Result<Vec<u64>> {
        self.elements.read(0, |pool| self.elements.objects(pool))
    }
}

fn expect_size<T: Pod>(shape: &Shape, name: &str) -> Result<()> {
    let (found, wanted) = (shape.element_bytes as usize, size_of::<T>());
    ensure(found == wanted, || {
        Error::usage(format!(
            "the vector {name:?} has elements of {found} bytes, not {wanted}"
        ))
    })
}
