//! Capacity: memory that is gone when it is closed (`NVMCap`; Kannan 2013, section 2).
//!
//! Nothing about it is logged or flushed. It is for two: the part of a pool that holds no persistent
//! objects ([`Heap::capacity_alloc`](crate::Heap::capacity_alloc), [`CapacityBox`]), and the whole heap
//! of a program ([`CapacityAllocator`]). The first is handed out by what hands out room for objects.
//! The second needs an allocator that never asks another one for memory: all that it knows lies in a
//! table that is mapped, and in the free slots themselves.

mod boxed;
mod extents;
mod global;
mod pool;
mod pooled;
mod region;
mod span;
mod spans;

pub use boxed::CapacityBox;
pub use global::CapacityAllocator;
