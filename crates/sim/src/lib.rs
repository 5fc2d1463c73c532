//! The virtual-time driver: what a memory and a policy would do to a program.

pub mod intern;
pub mod llc;
pub mod pages;
pub mod sweep;
pub mod workload;
