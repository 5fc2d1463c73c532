//! Least recently used: evicts the page with the longest time since its last touch.
//!
//! Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies", IBM
//! Systems Journal 9(2), 1970.

use super::queue::{Pages, Queue, Rule};
use super::{Entry, Make, PageId};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "lru",
    summary: "least recently used",
    paper: "Mattson et al., IBM Systems Journal 9(2), 1970",
    when: "The baseline of most papers, and the default.",
    evidence: crate::registry::Evidence {
        open: "",
        compared: "libCacheSim on its trace cloudPhysicsIO: its miss ratios, to the last digit \
                   that it prints",
    },
    make: Make::Online(&|capacity, _, _| Ok(Box::new(Lru::new(capacity)))),
};

/// Least recently used.
pub type Lru = Queue<LeastRecent>;

/// Evicts the page that was touched least recently.
#[derive(Default)]
pub struct LeastRecent;

impl Rule for LeastRecent {
    const LINKS: bool = true;

    fn hit(&mut self, pages: &mut Pages, page: PageId) {
        pages.move_to_front(page);
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    #[test]
    fn a_touch_puts_a_page_off() {
        // The touches that show FIFO's anomaly: 10 misses with three pages and 8 with four, for
        // what LRU keeps of three pages it also keeps of four.
        let pages = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
        let with = |capacity| evictions(&mut Lru::new(capacity), &pages);
        assert_eq!(with(3), [1, 2, 3, 4, 5, 1, 2]);
        assert_eq!(with(4), [3, 4, 5, 1]);
    }
}
