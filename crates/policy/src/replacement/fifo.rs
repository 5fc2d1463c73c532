//! First in, first out: the page that came in first goes first, touched since or not.

use std::collections::VecDeque;

use super::{Answer, PageId, Replacement, Touch};

/// First in, first out.
pub struct Fifo {
    capacity: usize,
    /// Pages in the order in which they came; some of them may have been removed since.
    queue: VecDeque<PageId>,
    /// Whether a page is resident.
    resident: Vec<bool>,
}

impl Fifo {
    /// A DRAM of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            queue: VecDeque::with_capacity(capacity),
            resident: Vec::new(),
        }
    }

    fn admit(&mut self, page: PageId) -> Option<PageId> {
        if page.index() >= self.resident.len() {
            self.resident.resize(page.index() + 1, false);
        }
        let evicted = if self.queue.len() >= self.capacity {
            self.queue.pop_front()
        } else {
            None
        };
        if let Some(evicted) = evicted {
            self.resident[evicted.index()] = false;
        }
        self.resident[page.index()] = true;
        self.queue.push_back(page);
        evicted
    }
}

impl Replacement for Fifo {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
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
            self.queue.retain(|queued| *queued != page);
        }
    }

    fn contains(&self, page: PageId) -> bool {
        self.resident.get(page.index()).copied().unwrap_or(false)
    }

    fn resident(&self) -> usize {
        self.queue.len()
    }
}
