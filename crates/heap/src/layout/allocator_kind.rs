//! Which allocator a pool has.

/// Who finds room for the objects of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllocatorKind {
    /// The write-aware one: runs and bitmaps in DRAM, in the pool only the allocation log.
    #[default]
    Nvwa,
    /// The one that the paper compares with: all that it knows is in the pool, and each change is
    /// logged, flushed and fenced. For measurements.
    Naive,
}
