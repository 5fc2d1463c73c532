//! Capacity: memory that is gone when its heap is closed or the program ends (`NVMCap`; Kannan
//! 2013, section 2).
//!
//! Nothing about it is logged or flushed. It has two uses: the part of a pool that holds no
//! persistent objects ([`Heap::capacity_alloc`](crate::Heap::capacity_alloc), [`CapacityBox`]), and
//! the whole heap of a program ([`CapacityAllocator`]). The first comes from an allocator for
//! objects. The second needs an allocator that never asks another one for memory: its state lies in
//! a mapped table, and in the free slots themselves.

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
