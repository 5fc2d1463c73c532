//! Control groups: the budget of a program, its processes, and what the kernel counts of them.

pub(crate) mod accounts;
pub mod budget;
pub(crate) mod cgroup;
pub mod container;
pub mod counters;
pub(crate) mod delegation;
pub(crate) mod faults;
pub(crate) mod footprint;
pub(crate) mod hierarchy;
pub mod kills;
pub(crate) mod leavers;
pub mod limit;
pub(crate) mod members;
pub(crate) mod reserve;
pub(crate) mod room;
pub(crate) mod scope;
pub(crate) mod swapped;
pub mod target;
