//! `off`: turns are as the scheduler makes them.

use super::{Entry, Make};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "off",
    summary: "turns as the scheduler makes them, which is a few milliseconds",
    paper: "Fedorov 2016, section 3.4.1, the baseline",
    when: "Tasks that fit into the cache together, or by far not even alone; to compare with.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|_, _| Ok(None)),
};
