//! Memory that is gone when the heap is closed (`NVMCap` of Kannan 2013): from the same pool and by
//! the same size classes, but nothing about it is logged or flushed.

use std::ptr::NonNull;

use crate::allocator::Allocator;
use crate::allocator::nvwa::Nvwa;
use crate::error::{Cause, Error, Result};
use crate::heap::Heap;
use crate::medium::Medium;

/// What stands in a run's DRAM for the record of such memory.
const IN_USE: u64 = 1;

impl<M: Medium> Heap<M> {
    /// Memory of at least so many bytes, a multiple of 16, aligned to 16. It holds anything, and is
    /// valid until it is freed or the last handle of the heap is dropped; after a crash it is free.
    ///
    /// # Errors
    ///
    /// There is no room, or a fence failed.
    pub fn capacity_alloc(&self, bytes: usize) -> Result<NonNull<[u8]>> {
        let core = self.core();
        let mut held = core.hold();
        let cache = &mut held.state.capacity;
        let mut reserve =
            || Allocator::<M>::reserve(&core.capacity, &core.space, cache, bytes as u64);
        let room = match reserve() {
            Err(error) if error.cause == Cause::Full => {
                core.reclaim();
                reserve()?
            }
            reserved => reserved?,
        };
        core.set_record(room.offset, IN_USE);
        // SAFETY: the room lies within the pool, whose address space is one allocation.
        let memory = unsafe { self.medium().base().add(room.offset as usize) };
        let memory = NonNull::new(memory).expect("a pool does not lie at address 0");
        Ok(NonNull::slice_from_raw_parts(memory, room.bytes as usize))
    }

    /// Frees such memory.
    ///
    /// # Safety
    ///
    /// Nobody uses it any more.
    ///
    /// # Errors
    ///
    /// It is not the beginning of such memory, or was freed already.
    pub unsafe fn capacity_free(&self, memory: NonNull<u8>) -> Result<()> {
        let core = self.core();
        let mut held = core.hold();
        let (offset, _) = self.capacity_at(memory)?;
        core.set_record(offset, 0);
        let (capacity, space): (&Nvwa, _) = (&core.capacity, &core.space);
        capacity.release(space, &mut held.state.capacity, offset);
        Ok(())
    }

    /// Makes such memory larger or smaller. It holds the same, as far as that fits, and may lie
    /// elsewhere.
    ///
    /// # Safety
    ///
    /// Nobody else uses it.
    ///
    /// # Errors
    ///
    /// As [`Heap::capacity_alloc`] and [`Heap::capacity_free`]; then the old memory is still there.
    pub unsafe fn capacity_resize(
        &self,
        memory: NonNull<u8>,
        bytes: usize,
    ) -> Result<NonNull<[u8]>> {
        let (_, old) = self.capacity_at(memory)?;
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

    /// The offset and the bytes of such memory.
    fn capacity_at(&self, memory: NonNull<u8>) -> Result<(u64, usize)> {
        let space = &self.core().space;
        let base = self.medium().base().addr();
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
