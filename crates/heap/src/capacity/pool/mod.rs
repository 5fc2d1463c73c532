//! Capacity of a pool (`NVMCap` of Kannan 2013): from the same pool and by the same size classes as
//! objects, but nothing about it is logged or flushed.

use std::ptr::NonNull;

use crate::allocator::index::Holds;
use crate::allocator::run::Run;
use crate::allocator::{Allocator, Room};
use crate::error::{Cause, Error, Result};
use crate::heap::Heap;
use crate::lane::Held;
use crate::layout::chunk::Use;
use crate::medium::Medium;
use crate::operation::Core;

/// Stands for the record of capacity in the DRAM of a run.
const IN_USE: u64 = 1;

impl<M: Medium> Core<M> {
    /// Takes chunks of the pool for capacity; returns the first. From now on the heap neither reads
    /// nor changes what lies there. The caller holds no lane.
    ///
    /// # Errors
    ///
    /// There are not that many in a row, or a fence failed.
    pub fn take_capacity(&self, count: u64) -> Result<u64> {
        let space = &self.space;
        let take = || space.chunks.take(&space.pool, count, Use::Free);
        let taken = match take() {
            Err(error) if error.cause() == Cause::Full => {
                self.reclaim();
                take()?
            }
            taken => taken?,
        };
        space.index.set_holds(taken.chunk, count, Holds::Capacity);
        if !taken.fresh {
            // An operation that checked before may be about to store there.
            self.free_runs();
        }
        Ok(taken.chunk)
    }

    /// Gives chunks of capacity back.
    pub fn give_capacity(&self, chunk: u64, count: u64) {
        let space = &self.space;
        space.index.set_holds(chunk, count, Holds::Own);
        space.chunks.give(&space.pool, chunk, count);
    }

    /// Takes room for `bytes`, in use from now on.
    fn reserve_capacity(&self, bytes: u64) -> Result<Room> {
        let geometry = &self.space.pool.geometry;
        if !self.capacity.shares(bytes) {
            let count = bytes.div_ceil(geometry.chunk_bytes());
            let chunk = self.take_capacity(count)?;
            let (offset, bytes) = (geometry.offset_of(chunk), geometry.offset_of(count));
            let mut run = Run::large(offset, bytes);
            run.capacity = true;
            run.take(0);
            run.set_record(0, IN_USE);
            self.space.index.insert(chunk, count, run);
            return Ok(Room {
                offset,
                bytes,
                fresh: false,
            });
        }
        loop {
            {
                let mut held = self.hold_open()?;
                let cache = &mut held.state.capacity;
                let room = self.capacity.reserve_listed(&self.space, cache, bytes);
                if let Some(room) = room {
                    self.set_record(room.offset, IN_USE);
                    return Ok(room);
                }
            }
            let chunk = self.take_capacity(1)?;
            self.capacity.add_run(&self.space, chunk, bytes);
        }
    }
}

impl<M: Medium> Heap<M> {
    /// Allocates at least `bytes` of capacity, a multiple of 16, aligned to 16. The contents are
    /// undefined. The memory is valid until it is freed or the last handle of the heap is dropped;
    /// after a crash it is free. It does not exist in children of this process.
    ///
    /// # Errors
    ///
    /// The pool is full, or a fence failed.
    pub fn capacity_alloc(&self, bytes: usize) -> Result<NonNull<[u8]>> {
        self.expect_open()?;
        let room = self.core().reserve_capacity(bytes as u64)?;
        // SAFETY: the room lies within the pool, whose address space is one allocation.
        let memory = unsafe { self.base().add(room.offset as usize) };
        let memory = NonNull::new(memory).expect("a pool does not lie at address 0");
        Ok(NonNull::slice_from_raw_parts(memory, room.bytes as usize))
    }

    /// Frees memory of [`Heap::capacity_alloc`].
    ///
    /// # Safety
    ///
    /// Nothing uses the memory any more.
    ///
    /// # Errors
    ///
    /// The address is not the beginning of such memory, or was freed already.
    pub unsafe fn capacity_free(&self, memory: NonNull<u8>) -> Result<()> {
        self.expect_not_child()?;
        let core = self.core();
        let mut held = core.hold();
        let (offset, _) = self.capacity_at(&held, memory)?;
        core.set_record(offset, 0);
        let cache = &mut held.state.capacity;
        core.capacity.release(&core.space, cache, offset);
        Ok(())
    }

    /// Changes the size of memory of [`Heap::capacity_alloc`], which may move. The contents are
    /// kept as far as they fit.
    ///
    /// # Safety
    ///
    /// Nothing else uses the memory.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::capacity_alloc`] and [`Heap::capacity_free`]; the old memory is still valid.
    pub unsafe fn capacity_resize(
        &self,
        memory: NonNull<u8>,
        bytes: usize,
    ) -> Result<NonNull<[u8]>> {
        self.expect_open()?;
        let (_, old) = self.capacity_at(&self.core().hold(), memory)?;
        if bytes <= old && (bytes > old / 2 || old <= 32) {
            return Ok(NonNull::slice_from_raw_parts(memory, old));
        }
        let new = self.capacity_alloc(bytes)?;
        // SAFETY: both have as many bytes, and one is not the other.
        unsafe {
            let first = new.cast::<u8>();
            first.copy_from_nonoverlapping(memory, old.min(bytes));
            self.capacity_free(memory)?;
        }
        Ok(new)
    }

    /// Returns the offset and the bytes of capacity memory.
    fn capacity_at(&self, _: &Held, memory: NonNull<u8>) -> Result<(u64, usize)> {
        let space = &self.core().space;
        let base = self.base().addr();
        let offset = memory.addr().get().wrapping_sub(base) as u64;
        let run = space.index.get(space.pool.geometry.chunk_of(offset));
        let used = run.filter(|run| {
            let slot = run.capacity.then(|| run.slot_at(offset)).flatten();
            slot.is_some_and(|slot| run.record(slot) == IN_USE)
        });
        let none = || Error::usage(format!("no capacity of this heap begins at {memory:?}"));
        let run = used.ok_or_else(none)?;
        Ok((offset, run.slot_bytes() as usize))
    }
}

#[cfg(test)]
mod tests;
