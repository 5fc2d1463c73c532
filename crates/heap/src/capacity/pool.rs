//! Capacity of a pool: chunks that hold no persistent objects, and are free when it is opened again.

use std::alloc::Layout;
use std::ptr::NonNull;

use super::span::{Span, Table};
use super::spans::{Chunks, Spans};
use crate::error::{Cause, Error, Result};
use crate::heap::Heap;
use crate::layout::chunk::Use;
use crate::medium::Medium;
use crate::operation::Core;

/// The largest alignment: pools begin with a page.
const ALIGN: usize = 4096;

/// What is known of a pool's capacity.
pub(crate) struct PoolCapacity {
    table: Table,
    spans: Spans,
}

impl PoolCapacity {
    fn new(chunks: u64) -> Result<Self> {
        let table = Table::new(chunks as usize);
        let what = "the table of a pool's capacity cannot be mapped";
        Ok(Self {
            table: table.map_err(|reason| Error::system(what, reason))?,
            spans: Spans::new(),
        })
    }
}

/// A pool as a source of chunks.
struct PoolChunks<'a, M> {
    core: &'a Core<M>,
    table: &'a Table,
}

impl<M: Medium> Chunks for PoolChunks<'_, M> {
    type Error = Error;

    fn base(&self) -> NonNull<u8> {
        NonNull::new(self.core.space.pool.medium.base()).expect("a pool is mapped")
    }

    fn align(&self) -> usize {
        ALIGN
    }

    fn shift(&self) -> u32 {
        self.core.space.pool.geometry.shift
    }

    fn spans(&self) -> &[Span] {
        self.table.spans()
    }

    fn take(&self, count: usize) -> Result<usize> {
        let space = &self.core.space;
        let take = || space.chunks.take(&space.pool, count as u64, Use::Free);
        let taken = take().or_else(|error| match error.cause {
            Cause::Full => {
                self.core.allocator.reclaim(space);
                take()
            }
            _ => Err(error),
        });
        taken.map(|taken| taken.chunk as usize)
    }

    fn give(&self, chunk: usize, count: usize) {
        let space = &self.core.space;
        space.chunks.give(&space.pool, chunk as u64, count as u64);
    }
}

impl<M: Medium> Heap<M> {
    /// Memory that is gone when the pool is closed, whatever it holds. Nothing is logged. It stays
    /// where it is, and is valid until it is freed or the heap's last handle is dropped.
    ///
    /// # Errors
    ///
    /// There is no room, or the alignment is above 4096.
    pub fn capacity(&self, layout: Layout) -> Result<NonNull<u8>> {
        let (capacity, chunks) = self.parts()?;
        check_align(layout)?;
        capacity.spans.alloc(&chunks, layout.size(), layout.align())
    }

    /// Frees memory that [`Heap::capacity`] has given.
    ///
    /// # Errors
    ///
    /// None begins there.
    ///
    /// # Safety
    ///
    /// Nobody uses it any more, and it was not freed before.
    pub unsafe fn free_capacity(&self, memory: NonNull<u8>) -> Result<()> {
        let (capacity, chunks) = self.parts()?;
        capacity.check(&chunks, memory)?;
        // SAFETY: the caller's.
        unsafe { capacity.spans.free(&chunks, memory) };
        Ok(())
    }

    /// Makes memory that [`Heap::capacity`] has given larger or smaller, with the same contents as
    /// far as they fit; it may lie elsewhere then.
    ///
    /// # Errors
    ///
    /// None begins there, there is no room, or the alignment is above 4096. The old memory is still
    /// there.
    ///
    /// # Safety
    ///
    /// As [`Heap::free_capacity`].
    pub unsafe fn resize_capacity(
        &self,
        memory: NonNull<u8>,
        layout: Layout,
    ) -> Result<NonNull<u8>> {
        let (capacity, chunks) = self.parts()?;
        check_align(layout)?;
        capacity.check(&chunks, memory)?;
        let (bytes, align) = (layout.size(), layout.align());
        // SAFETY: the caller's.
        unsafe { capacity.spans.resize(&chunks, memory, bytes, align) }
    }

    /// Bytes of the pool that are used as capacity, with what is lost by rounding to slots and
    /// chunks.
    pub fn capacity_bytes(&self) -> u64 {
        let cell = self.capacity_cell();
        cell.get()
            .map_or(0, |capacity| capacity.spans.bytes() as u64)
    }

    fn parts(&self) -> Result<(&PoolCapacity, PoolChunks<'_, M>)> {
        let (cell, core) = (self.capacity_cell(), self.core());
        let capacity = match cell.get() {
            Some(capacity) => capacity,
            None => {
                let pool = &core.space.pool;
                let new = PoolCapacity::new(pool.geometry.chunk_of(pool.medium.max_len()))?;
                cell.get_or_init(|| new)
            }
        };
        let table = &capacity.table;
        Ok((capacity, PoolChunks { core, table }))
    }
}

impl PoolCapacity {
    fn check<M: Medium>(&self, chunks: &PoolChunks<M>, memory: NonNull<u8>) -> Result<()> {
        match self.spans.size_of(chunks, memory) {
            Some(_) => Ok(()),
            None => Err(Error::usage(format!(
                "no capacity of this pool begins at address {memory:?}"
            ))),
        }
    }
}

fn check_align(layout: Layout) -> Result<()> {
    if layout.align() <= ALIGN {
        return Ok(());
    }
    Err(Error::usage(format!(
        "capacity of a pool is aligned to at most {ALIGN} bytes, not {}",
        layout.align()
    )))
}

#[cfg(test)]
mod tests;
