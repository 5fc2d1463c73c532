//! Objects of the program: from a size on they are reported to the plug-in that records it
//! (`report`), or those of a placement are kept in DRAM (`dram`).
//!
//! Blocks are those of the next library that has `malloc` and its like (`blocks`).

mod blocks;
mod dram;
mod mappings;
mod report;

pub use blocks::{aligned_alloc, calloc, free, malloc, memalign, posix_memalign, realloc, valloc};
pub use mappings::{mmap, mremap, munmap};

/// Prepares what is done when the program allocates.
pub extern "C" fn begin() {
    blocks::prepare();
    report::begin();
}
