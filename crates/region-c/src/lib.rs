//! Regions for C: `include/terrace_region.h` says what each function does.
//!
//! No panic crosses the boundary, and handles are looked up among the open ones.

mod error;
mod extension;
mod figures;
mod registry;
mod text;
