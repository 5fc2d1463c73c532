//! The kinds of allocators.

/// The allocator of a pool's objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllocatorKind {
    /// NVWA, the NVM-write-aware allocator: runs and bitmaps in DRAM, only the allocation log in
    /// the pool.
    #[default]
    Nvwa,
    /// The naive allocator with which the paper compares: all its state is in the pool, and each
    /// change is logged, flushed and fenced. For measurements.
    Naive,
}
