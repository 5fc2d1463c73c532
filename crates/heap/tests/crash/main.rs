//! What crashes leave: see `harness`.

mod harness;
mod hash_map;
mod objects;
mod transactions;
mod vector;
