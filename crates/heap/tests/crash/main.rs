//! What crashes leave: see `harness`.

mod btree_map;
mod harness;
mod hash_map;
mod objects;
mod queue;
mod transactions;
mod vector;
