//! Control groups: the budget of a program, its processes, and what the kernel counts of them.

pub mod accounts;
pub mod budget;
pub mod cgroup;
pub(crate) mod container;
pub mod counters;
pub mod delegation;
pub mod footprint;
pub mod hierarchy;
pub(crate) mod leavers;
pub mod limit;
pub(crate) mod members;
pub(crate) mod reserve;
pub mod room;
pub mod scope;
pub(crate) mod swapped;
pub mod target;
