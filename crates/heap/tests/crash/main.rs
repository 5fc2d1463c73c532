//! What crashes leave: see `harness`.

mod batches;
mod btree_map;
#[path = "../common/mod.rs"]
mod common;
mod compacted;
mod concurrent;
mod direct;
mod emptied;
mod harness;
mod hash_map;
mod hash_map_lanes;
mod histories;
mod journal;
mod mixes;
mod objects;
#[path = "../oracle/mod.rs"]
mod oracle;
mod queue;
mod reuse;
mod sized;
mod transactions;
mod vector;
