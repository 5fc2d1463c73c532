//! `never`: every page lies in slow memory and stays there.

use super::{Entry, Make, Migration, Side};
use crate::replacement::PageId;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "never",
    summary: "every page lies in slow memory: what the others are measured by",
    paper: "Oskin & Loh 2015, figure 1, the baseline",
    when: "To compare with.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|_, _| Ok(Some(Box::new(Never)))),
};

struct Never;

impl Migration for Never {
    fn came(&mut self, _: PageId) -> Side {
        Side::Slow
    }

    fn gone(&mut self, _: PageId) {}

    fn stays(&mut self, _: PageId, _: Side) {}
}
