//! What is changed on the machine, and put back: each change is in a journal before it is made.

pub mod guardian;
pub mod journal;
pub(crate) mod knobs;
pub(crate) mod neighbours;
pub(crate) mod peers;
pub mod pool;
pub mod sysctl;
pub mod view;
pub mod zswap;
