//! The dual-use heap for C: `include/terrace_heap.h` says what each function does.
//!
//! No panic crosses the boundary, and every mistake that can be detected is a code and a sentence:
//! handles are looked up among the open ones, pointers are checked against the bounds of the heap,
//! objects against what is in use. What cannot be detected is left to the caller, as in C: that
//! memory outside of the heap has as many bytes as the caller says.

mod container;
mod cursor;
mod cursors;
mod error;
mod handle;
mod maps;
mod memory;
mod queue;
mod registry;
mod salvage;
mod stack;
mod statistics;
mod text;
mod transaction;
