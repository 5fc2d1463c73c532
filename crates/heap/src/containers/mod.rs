//! Persistent containers.
//!
//! A container keeps its data in objects of a heap, reached from a root, and its locks and counts in
//! DRAM. What it needs of the heap: an operation that makes an object and links it, one that unlinks
//! and frees one, one that fills a slot of an object and makes it seen, and transactions for all else.

pub mod btree_map;
pub mod hash_map;
pub mod queue;
pub mod vector;
mod words;

pub use btree_map::BTreeMap;
pub use hash_map::HashMap;
pub use queue::Queue;
pub use vector::Vector;
