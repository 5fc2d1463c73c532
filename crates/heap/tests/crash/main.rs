//! What crashes leave: see `harness`.

mod btree_map;
#[path = "../common/mod.rs"]
mod common;
mod direct;
mod harness;
mod hash_map;
mod hash_map_lanes;
mod journal;
mod objects;
mod queue;
mod reuse;
mod sized;
mod transactions;
mod vector;
