//! What crashes leave: see `harness`.

mod harness;
mod objects;
mod transactions;
