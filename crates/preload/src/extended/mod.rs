//! Large private anonymous mappings of the program, and large blocks of `malloc`, in extended
//! memory.
//!
//! The functions that map memory (`mappings`), `malloc` and its like (`blocks`), and those that
//! close descriptors (`descriptors`) are done, and large memory is handed to `terrace-region`
//! (`extension`). Small blocks are a heap of their own (`small`) where the user asks for it.
//! Whatever fails, the program has its memory in DRAM, as without this library.
//!
//! Its own memory comes from [`Heap`] alone, which the library must have as its global allocator: a
//! thread that serves faults must not touch memory that it serves, nor wait for a lock of the
//! program's heap. Functions with a `caller` need to know it.

mod adopted;
mod blocks;
mod cache;
mod callers;
mod descriptors;
mod extension;
mod fork;
mod heap;
mod mappings;
mod owner;
mod small;

pub use blocks::{
    aligned_alloc, calloc, free, malloc, malloc_usable_size, memalign, posix_memalign, realloc,
    valloc,
};
pub use descriptors::{close, close_range, closefrom, dup2, dup3};
pub use fork::{Handler, register_atfork};
pub use heap::Heap;
pub use mappings::{madvise, mmap, mremap, munmap};

/// Reads the task, and begins to do it.
pub extern "C" fn begin() {
    let Some(begun) = extension::begin() else {
        return;
    };
    fork::watch();
    if begun.small {
        small::begin();
    }
}
