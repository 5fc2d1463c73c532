//! First in, first out: evicts the page that came in first, touched since or not.
//!
//! Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5(2), 1966.

use super::queue::{Pages, Queue, Rule};
use super::{Entry, Make, PageId};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "fifo",
    summary: "first in, first out",
    paper: "Belady, IBM Systems Journal 5(2), 1966",
    when: "A baseline: it keeps no record of use.",
    evidence: crate::registry::Evidence {
        open: "",
        compared: "libCacheSim on its trace cloudPhysicsIO: its miss ratios, to the last digit \
                   that it prints",
    },
    make: Make::Online(&|capacity, _, _| Ok(Box::new(Fifo::new(capacity)))),
};

/// First in, first out.
pub type Fifo = Queue<FirstIn>;

/// Evicts the page that came in first.
#[derive(Default)]
pub struct FirstIn;

impl Rule for FirstIn {
    fn hit(&mut self, _: &mut Pages, _: PageId) {}
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    #[test]
    fn more_pages_may_mean_more_misses() {
        // Belady, Nelson and Shedler, "An anomaly in space-time characteristics of certain
        // programs running in a paging machine", CACM 12(6), 1969: 9 misses with three pages,
        // of which 6 evict, and 10 with four.
        let pages = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
        let with = |capacity| evictions(&mut Fifo::new(capacity), &pages);
        assert_eq!(with(3), [1, 2, 3, 4, 1, 2]);
        assert_eq!(with(4), [1, 2, 3, 4, 5, 1]);
    }
}
