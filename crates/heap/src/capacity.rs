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
        let offset = memory
            .addr()
            .get()
            .wrapping_sub(self.medium().base().addr()) as u64;
        let run = core
            .space
            .index
            .get(core.space.pool.geometry.chunk_of(offset));
        let in_use = run.filter(|run| run.capacity).is_some_and(|run| {
            let slot = run.slot_at(offset);
            slot.is_some_and(|slot| run.record(slot) == IN_USE)
        });
        if !in_use {
            return Err(Error::usage(format!(
                "no capacity of this heap begins at {memory:?}"
            )));
        }
        core.set_record(offset, 0);
        let (capacity, space): (&Nvwa, _) = (&core.capacity, &core.space);
        capacity.release(space, &mut held.state.capacity, offset);
        Ok(())
    }
}
