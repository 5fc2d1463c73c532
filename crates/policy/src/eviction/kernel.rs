//! `kernel`: the memory's own replacement chooses alone.

use super::{Entry, Make};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "kernel",
    summary: "nothing leaves early: the kernel's choice, or the simulated replacement's",
    paper: "Linux, admin-guide/mm/concepts.rst, Reclaim",
    when: "Programs without passes over more memory than their DRAM.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|_, _| Ok(None)),
};
