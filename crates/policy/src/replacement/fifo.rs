//! First in, first out: the page that came in first goes first, touched since or not.
//!
//! Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5(2), 1966.

use super::list::{Links, List};
use super::table::Table;
use super::{Answer, PageId, Replacement, Touch};

/// First in, first out.
pub struct Fifo {
    capacity: usize,
    links: Links,
    /// The page that came in last is at the front.
    queue: List,
    resident: Table<bool>,
}

impl Fifo {
    /// A DRAM of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            links: Links::default(),
            queue: List::default(),
            resident: Table::default(),
        }
    }

    fn admit(&mut self, page: PageId) -> Option<PageId> {
        let full = self.queue.len() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        self.queue.push_front(&mut self.links, page);
        self.resident.set(page, true);
        evicted
    }

    fn evict(&mut self) -> Option<PageId> {
        let victim = self.queue.pop_back(&mut self.links)?;
        self.resident.set(victim, false);
        Some(victim)
    }
}

impl Replacement for Fifo {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            return Answer::Hit;
        }
        let evicted = self.admit(touch.page);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.admit(page)
    }

    fn remove(&mut self, page: PageId) {
        if self.contains(page) {
            self.queue.remove(&mut self.links, page);
            self.resident.set(page, false);
        }
    }

    fn expect(&self, pages: &[PageId]) {
        self.resident.expect(pages);
    }

    fn next_victim(&self) -> Option<PageId> {
        self.queue.back()
    }

    fn contains(&self, page: PageId) -> bool {
        self.resident.get(page)
    }

    fn resident(&self) -> usize {
        self.queue.len()
    }
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
