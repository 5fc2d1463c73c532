//! What the driver needs of the system: threads, locks, mapped memory, clocks, sets of CPUs.

pub(crate) mod busy;
pub(crate) mod clock;
pub mod cpus;
pub mod dram;
pub(crate) mod lock;
pub(crate) mod memory;
pub(crate) mod perf;
pub mod privilege;
pub(crate) mod trust;
pub(crate) mod worker;
