//! Least recently used: the page that was not touched for the longest time goes.
//!
//! Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies", IBM
//! Systems Journal 9(2), 1970.

use super::list::{Links, List};
use super::{Answer, PageId, Replacement, Touch};

/// Least recently used.
pub struct Lru {
    capacity: usize,
    links: Links,
    /// The most recently used page is at the front.
    pages: List,
    resident: Vec<bool>,
}

impl Lru {
    /// A DRAM of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            links: Links::default(),
            pages: List::default(),
            resident: Vec::new(),
        }
    }

    fn admit(&mut self, page: PageId) -> Option<PageId> {
        self.links.cover(page);
        if page.index() >= self.resident.len() {
            self.resident
                .resize((page.index() + 1).next_power_of_two(), false);
        }
        let full = self.pages.len() >= self.capacity;
        let evicted = full.then(|| self.pages.pop_back(&mut self.links)).flatten();
        if let Some(evicted) = evicted {
            self.resident[evicted.index()] = false;
        }
        self.pages.push_front(&mut self.links, page);
        self.resident[page.index()] = true;
        evicted
    }
}

impl Replacement for Lru {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            self.pages.move_to_front(&mut self.links, touch.page);
            return Answer::Hit;
        }
        Answer::Miss {
            evicted: self.admit(touch.page),
        }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.admit(page)
    }

    fn remove(&mut self, page: PageId) {
        if self.contains(page) {
            self.resident[page.index()] = false;
            self.pages.remove(&mut self.links, page);
        }
    }

    fn contains(&self, page: PageId) -> bool {
        self.resident.get(page.index()).copied().unwrap_or(false)
    }

    fn resident(&self) -> usize {
        self.pages.len()
    }
}
