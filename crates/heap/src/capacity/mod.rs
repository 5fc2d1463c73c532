//! Capacity: memory that is gone when it is closed (`NVMCap`; Kannan 2013, section 2).
//!
//! Nothing is logged, flushed or fenced for it. One allocator serves two purposes: the part of a
//! pool that holds no persistent objects ([`Heap::capacity`](crate::Heap::capacity)), and the whole
//! heap of a program ([`CapacityAllocator`]). All that it knows lies in a table that is mapped, and
//! in the free slots themselves, so that it never asks another allocator for memory.

mod boxed;
mod class;
mod extents;
mod global;
mod mapping;
mod pool;
mod region;
mod span;
mod spans;

pub use boxed::CapacityBox;
pub use global::CapacityAllocator;
pub(crate) use pool::PoolCapacity;
