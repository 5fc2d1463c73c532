//! `all`: every page is admitted.
//!
//! Koob 2010, "Implemented Hierarchy": flash is filled with whatever the page cache evicts.

use super::{Admission, Answer, Entry, Make, Request};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "all",
    summary: "every page",
    paper: "Koob 2010, Implemented Hierarchy",
    when: "Memories that hardly wear out, and comparisons: the most hits while nothing is read only once.",
    evidence: crate::registry::Evidence {
        open: "",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make(&|_, _| Ok(Box::new(All))),
};

struct All;

impl Admission for All {
    fn wants(&self, _: &Request) -> Answer {
        Answer::Admit
    }
}
