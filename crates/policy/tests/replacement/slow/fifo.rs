//! First in, first out.

use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

pub struct Fifo {
    capacity: usize,
    /// First in, first.
    pages: Vec<PageId>,
}

impl Fifo {
    pub fn new(capacity: usize) -> Self {
        let pages = Vec::new();
        Self { capacity, pages }
    }
}

impl Replacement for Fifo {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            return Answer::Hit;
        }
        let evicted = self.prefetch(touch.page);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        let full = self.pages.len() == self.capacity;
        let evicted = full.then(|| self.pages.remove(0));
        self.pages.push(page);
        evicted
    }

    fn remove(&mut self, page: PageId) {
        self.pages.retain(|other| *other != page);
    }

    fn contains(&self, page: PageId) -> bool {
        self.pages.contains(&page)
    }

    fn resident(&self) -> usize {
        self.pages.len()
    }
}
