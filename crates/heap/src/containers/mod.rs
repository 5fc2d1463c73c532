//! Persistent containers.
//!
//! A container keeps its data in objects of a heap, reached from a root, and its locks and counts
//! in DRAM, where all its handles share them. Each operation is written once, over a source of
//! words and a sink for changes: by itself it is an operation of a lane, and within a transaction a
//! part of that.

mod apart;
pub mod btree_map;
pub(crate) mod compacted;
pub(crate) mod compacting;
mod container;
mod data;
pub(crate) mod emptied;
mod emptying;
pub mod hash_map;
mod identity;
mod inspected;
mod inspecting;
pub mod queue;
mod root;
pub(crate) mod salvaged;
pub(crate) mod salvaging;
mod types;
pub mod vector;

pub use btree_map::BTreeMap;
pub use container::Container;
#[cfg(feature = "serde")]
pub use data::Serde;
pub use data::{Bytewise, Key, Value};
pub use hash_map::HashMap;
pub use identity::Identity;
pub use queue::Queue;
pub use vector::Vector;
