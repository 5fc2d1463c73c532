//! The library that `terrace extend` loads into programs.
//!
//! It takes the place of the C library's functions that map memory (`mappings`) and of `malloc` and
//! its like (`blocks`), and of those that close descriptors (`descriptors`), has them done, and
//! hands large private anonymous memory to `terrace-region` (`extended`). Small blocks are a heap
//! of their own (`small`) where the user asks for it. Whatever fails, the program has its memory in
//! DRAM, as without this library.
//!
//! Its own memory comes from `heap` alone: a thread that serves faults must not touch memory that
//! it serves, nor wait for a lock of the program's heap.

mod adopted;
mod blocks;
mod cache;
mod callers;
mod descriptors;
mod extended;
mod fork;
mod heap;
mod mappings;
mod owner;
mod small;

/// Has the dynamic linker call [`begin`] before the program.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    let Some(begun) = extended::begin() else {
        return;
    };
    fork::watch();
    if begun.small {
        small::begin();
    }
}
