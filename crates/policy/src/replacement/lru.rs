//! Least recently used: the page that was not touched for the longest time goes.
//!
//! Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies", IBM
//! Systems Journal 9(2), 1970.

use super::list::{Links, List};
use super::table::Table;
use super::{Answer, PageId, Replacement, Touch};

/// Least recently used.
pub struct Lru {
    capacity: usize,
    links: Links,
    /// The most recently used page is at the front.
    pages: List,
    resident: Table<bool>,
}

impl Lru {
    /// A DRAM of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            links: Links::default(),
            pages: List::default(),
            resident: Table::default(),
        }
    }

    fn admit(&mut self, page: PageId) -> Option<PageId> {
        let full = self.pages.len() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        self.pages.push_front(&mut self.links, page);
        self.resident.set(page, true);
        evicted
    }

    fn evict(&mut self) -> Option<PageId> {
        let victim = self.pages.pop_back(&mut self.links)?;
        self.resident.set(victim, false);
        Some(victim)
    }
}

impl Replacement for Lru {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            self.pages.move_to_front(&mut self.links, touch.page);
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
            self.pages.remove(&mut self.links, page);
            self.resident.set(page, false);
        }
    }

    fn expect(&self, pages: &[PageId]) {
        self.resident.expect(pages);
        self.links.expect(pages);
    }

    fn next_victim(&self) -> Option<PageId> {
        self.pages.back()
    }

    fn contains(&self, page: PageId) -> bool {
        self.resident.get(page)
    }

    fn resident(&self) -> usize {
        self.pages.len()
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
