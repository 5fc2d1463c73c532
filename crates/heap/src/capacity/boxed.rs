//! `CapacityBox`: typed capacity.

use std::alloc::Layout;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use bytemuck::Pod;

use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::medium::{Mapped, Medium};

/// A value in a pool's capacity, as a `Box` has one in DRAM. Dropping it frees its memory; it keeps
/// the heap open. The memory does not exist in children of this process: access to it there ends
/// with SIGSEGV.
///
/// ```
/// use terrace_heap::{Heap, Result};
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(4 << 20)?;
///     let mut scratch = heap.capacity_slice::<u64>(1000)?;
///     scratch[999] = 7;
///     let names = heap.capacity_box(vec!["anna", "carl"])?;
///     assert_eq!((scratch.len(), names.len()), (1000, 2));
///     Ok(())
/// }
/// ```
pub struct CapacityBox<T: ?Sized, M: Medium = Mapped> {
    value: NonNull<T>,
    heap: Heap<M>,
    owns: PhantomData<T>,
}

// SAFETY: it owns the value, as a `Box` does; a heap can be used by all threads.
unsafe impl<T: ?Sized + Send, M: Medium> Send for CapacityBox<T, M> {}
// SAFETY: same as above.
unsafe impl<T: ?Sized + Sync, M: Medium> Sync for CapacityBox<T, M> {}

impl<M: Medium> Heap<M> {
    /// Puts a value into capacity.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::capacity_alloc`]; the value is aligned to more than 4096 bytes.
    pub fn capacity_box<T>(&self, value: T) -> Result<CapacityBox<T, M>> {
        let bytes = slot(Layout::new::<T>())?;
        let memory = self.capacity_alloc(bytes)?.cast::<T>();
        // SAFETY: allocated here, as large and as aligned as a `T`.
        unsafe { memory.write(value) };
        Ok(CapacityBox::of(memory, self))
    }

    /// Makes a slice of `count` values, all zeros, in capacity.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::capacity_box`].
    pub fn capacity_slice<T: Pod>(&self, len: usize) -> Result<CapacityBox<[T], M>> {
        let bytes = slot(array::<T>(len)?)?;
        let memory = self.capacity_alloc(bytes)?.cast::<T>();
        // SAFETY: allocated here, as large and as aligned as that many `T`, for which zeros are
        // valid.
        unsafe { memory.write_bytes(0, len) };
        let values = NonNull::slice_from_raw_parts(memory, len);
        Ok(CapacityBox::of(values, self))
    }
}

/// Alignment of all capacity memory.
const UNIT: usize = 16;
/// Chunks have at least this many bytes, and begin at a multiple of them.
const MAX_ALIGN: usize = 4096;

/// Returns the bytes to request so that the memory is aligned: slots of a power of two lie at
/// multiples of it.
fn slot(layout: Layout) -> Result<usize> {
    match layout.align() {
        0..=UNIT => Ok(layout.size()),
        align @ ..=MAX_ALIGN => Ok(layout.size().max(align).next_power_of_two()),
        align => Err(Error::usage(format!(
            "capacity of a pool is aligned to at most {MAX_ALIGN} bytes, not {align}"
        ))),
    }
}

impl<T: ?Sized, M: Medium> CapacityBox<T, M> {
    fn of(value: NonNull<T>, heap: &Heap<M>) -> Self {
        Self {
            value,
            heap: heap.clone(),
            owns: PhantomData,
        }
    }
}

impl<T: Pod, M: Medium> CapacityBox<[T], M> {
    /// Changes the length of the slice; new values are zeros.
    ///
    /// # Errors
    ///
    /// The pool is full; the slice is as it was.
    pub fn resize(&mut self, len: usize) -> Result<()> {
        let (bytes, old) = (slot(array::<T>(len)?)?, self.value.len());
        // SAFETY: it was allocated as such, and nothing else refers to it.
        let memory = unsafe { self.heap.capacity_resize(self.value.cast(), bytes)? };
        let memory = memory.cast::<T>();
        if len > old {
            // SAFETY: there is room for that many behind the old values.
            unsafe { memory.add(old).write_bytes(0, len - old) };
        }
        self.value = NonNull::slice_from_raw_parts(memory, len);
        Ok(())
    }
}

fn array<T>(len: usize) -> Result<Layout> {
    let too_many = |_| Error::usage(format!("{len} values are more than memory can have"));
    Layout::array::<T>(len).map_err(too_many)
}

impl<T: ?Sized, M: Medium> Deref for CapacityBox<T, M> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: a value that this owns.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized, M: Medium> DerefMut for CapacityBox<T, M> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: same as above.
        unsafe { self.value.as_mut() }
    }
}

impl<T: ?Sized, M: Medium> Drop for CapacityBox<T, M> {
    fn drop(&mut self) {
        if self.heap.expect_not_child().is_err() {
            // In a child neither the value nor its memory exists.
            return;
        }
        // SAFETY: the value is dropped once, and its memory was allocated by this heap.
        let freed = unsafe {
            self.value.drop_in_place();
            self.heap.capacity_free(self.value.cast())
        };
        debug_assert!(freed.is_ok());
    }
}
