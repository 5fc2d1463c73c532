//! The dual-use heap for C: `include/terrace_heap.h` says what each function does.
//!
//! No panic crosses the boundary, and whatever can be known to be wrong is a code and a sentence:
//! handles are looked up among those that are open, pointers are checked against the heap's bounds,
//! objects against what is in use. What cannot be known is left to the caller, as in C: that memory
//! outside of the heap has as many bytes as it is said to have.

mod container;
mod cursor;
mod error;
mod handle;
mod hash;
mod memory;
mod queue;
mod registry;
mod stack;
mod statistics;
mod text;
mod transaction;
mod tree;
