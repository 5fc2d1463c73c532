//! A part of a pool as the memory of a whole program.

use std::io;
use std::ptr::NonNull;

use super::extents::{Extents, Free};
use super::span::Span;
use super::spans::Chunks;
use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::medium::Medium;

/// Chunks that a pool has given away, all in advance: the heap itself allocates while it holds its
/// own locks, so it cannot be asked then.
pub(super) struct Pooled {
    /// Keeps the memory mapped, and the pool locked.
    heap: Heap,
    free: Free,
}

impl Pooled {
    /// Returns an empty part of a heap.
    ///
    /// # Errors
    ///
    /// There is no address space for the table.
    pub fn new(heap: &Heap) -> io::Result<Self> {
        let chunks = (heap.medium().max_len() >> heap.shift()) as usize;
        Ok(Self {
            heap: heap.clone(),
            free: Free::new(chunks, Extents::none(chunks))?,
        })
    }

    /// Returns whether this is a part of the same pool.
    pub fn is_of(&self, heap: &Heap) -> bool {
        self.heap.id() == heap.id()
    }

    /// Takes `bytes` more of the pool, in as few pieces as possible.
    ///
    /// # Errors
    ///
    /// The pool has less room, and nothing is taken; or a fence failed.
    pub fn extend(&self, bytes: u64) -> Result<()> {
        let shift = self.heap.shift();
        let rows = self.heap.take_chunks(bytes.div_ceil(1 << shift))?;
        let leave = |&(chunk, count): &(u64, u64)| {
            let range = chunk << shift..(chunk + count) << shift;
            self.heap.medium().leave_to_children(range)
        };
        if let Err(error) = rows.iter().try_for_each(leave) {
            self.heap.give_chunks(&rows);
            return Err(error);
        }
        for (chunk, count) in rows {
            self.free.give(chunk as usize, count as usize);
        }
        Ok(())
    }
}

impl Chunks for Pooled {
    fn base(&self) -> NonNull<u8> {
        NonNull::new(self.heap.base()).expect("no pool begins at address 0")
    }

    fn align(&self) -> usize {
        1 << self.heap.shift()
    }

    fn shift(&self) -> u32 {
        self.heap.shift()
    }

    fn spans(&self) -> &[Span] {
        self.free.spans()
    }

    fn take(&self, count: usize) -> Option<usize> {
        self.free.take(count)
    }

    fn give(&self, chunk: usize, count: usize) {
        self.free.give(chunk, count);
    }
}

impl Heap {
    /// Bits of an offset within a chunk.
    fn shift(&self) -> u32 {
        self.core().space.pool.geometry.shift
    }

    /// Takes chunks of the pool, which the heap does not touch from now on; returns the first and
    /// the count of each row.
    ///
    /// # Errors
    ///
    /// The pool has less room, and nothing is taken; or a fence failed.
    fn take_chunks(&self, chunks: u64) -> Result<Vec<(u64, u64)>> {
        self.expect_open()?;
        let core = self.core();
        core.reclaim();
        let (mut taken, mut left) = (Vec::new(), chunks);
        while left > 0 {
            let row = left.min(core.space.chunks.longest());
            let took = match row {
                0 => Err(Error::full(format!(
                    "the pool has {} of the {} bytes free that the program's memory is to have; make \
                     it larger",
                    core.space.pool.geometry.offset_of(chunks - left),
                    core.space.pool.geometry.offset_of(chunks),
                ))),
                row => core.take_capacity(row),
            };
            match took {
                Ok(chunk) => taken.push((chunk, row)),
                Err(error) => {
                    self.give_chunks(&taken);
                    return Err(error);
                }
            }
            left -= row;
        }
        Ok(taken)
    }

    fn give_chunks(&self, rows: &[(u64, u64)]) {
        for &(chunk, count) in rows {
            self.core().give_capacity(chunk, count);
        }
    }
}
