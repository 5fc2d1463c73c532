//! Knobs and mounts of the machine that a run changes, and puts back.

pub(crate) mod knobs;
pub mod mount;
pub(crate) mod peers;
pub mod pool;
pub mod sysctl;
pub mod view;
pub mod zswap;
