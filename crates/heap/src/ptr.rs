//! Persistent pointers.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

/// A pointer to a `T` in a pool: its offset, in 8 bytes, valid wherever the pool is mapped.
///
/// It is plain data, so it can itself lie in a pool. It does not promise that an object exists:
/// every use is checked against the bounds of the pool.
///
/// ```
/// use terrace_heap::bytemuck::{Pod, Zeroable};
/// use terrace_heap::{Heap, Place, Ptr, Result};
///
/// /// A node of a list.
/// #[repr(C)]
/// #[derive(Clone, Copy)]
/// struct Node {
///     next: Ptr<Node>,
///     value: u64,
/// }
///
/// // SAFETY: two words; any two are a node.
/// unsafe impl Zeroable for Node {}
/// // SAFETY: as above, without padding.
/// unsafe impl Pod for Node {}
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(1 << 20)?;
///     let first: Place<Node> = heap.root("list", 100)?;
///     let node = heap.publish(first, &Node { next: Ptr::NULL, value: 1 })?;
///     // Where the first node says what the next one is, at its byte 0.
///     let next: Place<Node> = node.field(0);
///     heap.publish(next, &Node { next: Ptr::NULL, value: 2 })?;
///     let second = heap.read(heap.read(node)?.next)?;
///     assert_eq!(second.value, 2);
///     Ok(())
/// }
/// ```
#[repr(transparent)]
pub struct Ptr<T> {
    offset: u64,
    to: PhantomData<fn() -> T>,
}

/// A word that holds a pointer to a `T`: a root, or a field of another object.
pub type Place<T> = Ptr<Ptr<T>>;

impl<T> Ptr<T> {
    /// The null pointer.
    pub const NULL: Self = Self::at(0);

    /// Returns the pointer to an offset.
    pub const fn at(offset: u64) -> Self {
        let to = PhantomData;
        Self { offset, to }
    }

    /// Returns the offset from the beginning of the pool; 0 for the null pointer.
    pub const fn offset(self) -> u64 {
        self.offset
    }

    /// Returns whether this is the null pointer.
    pub const fn is_null(self) -> bool {
        self.offset == 0
    }

    /// Returns the pointer to a field of the object, `bytes` from its beginning
    /// (`std::mem::offset_of!`).
    #[must_use]
    pub const fn field<F>(self, bytes: usize) -> Ptr<F> {
        Ptr::at(self.offset + bytes as u64)
    }

    /// Returns the pointer to the same bytes as another type.
    #[must_use]
    pub const fn cast<U>(self) -> Ptr<U> {
        Ptr::at(self.offset)
    }
}

// SAFETY: it is a `u64`, and zeros are a valid value of that.
unsafe impl<T> Zeroable for Ptr<T> {}
// SAFETY: it is a `u64` to which the phantom adds nothing; every value is valid, since every use is
// checked.
unsafe impl<T: 'static> Pod for Ptr<T> {}

impl<T> Clone for Ptr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ptr<T> {}

impl<T> PartialEq for Ptr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.offset == other.offset
    }
}

impl<T> Eq for Ptr<T> {}

impl<T> Hash for Ptr<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.offset.hash(state);
    }
}

impl<T> fmt::Debug for Ptr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ptr({:#x})", self.offset)
    }
}
