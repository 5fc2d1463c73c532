//! Least frequently used, ties by least recently.

use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

pub struct Lfu {
    capacity: usize,
    now: u64,
    pages: Vec<Resident>,
}

struct Resident {
    page: PageId,
    touches: u64,
    /// When it was touched last, or came in.
    last: u64,
}

impl Lfu {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            now: 0,
            pages: Vec::new(),
        }
    }

    fn admit(&mut self, page: PageId, touches: u64) -> Option<PageId> {
        let full = self.pages.len() == self.capacity;
        let evicted = full.then(|| {
            let order = |at: &usize| (self.pages[*at].touches, self.pages[*at].last);
            let victim = (0..self.pages.len()).min_by_key(order);
            self.pages.remove(victim.expect("DRAM is full")).page
        });
        let last = self.now;
        self.pages.push(Resident {
            page,
            touches,
            last,
        });
        evicted
    }
}

impl Replacement for Lfu {
    fn touch(&mut self, touch: Touch) -> Answer {
        self.now += 1;
        for resident in &mut self.pages {
            if resident.page == touch.page {
                resident.touches += 1;
                resident.last = self.now;
                return Answer::Hit;
            }
        }
        let evicted = self.admit(touch.page, 1);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        self.now += 1;
        if self.contains(page) {
            return None;
        }
        self.admit(page, 0)
    }

    fn remove(&mut self, page: PageId) {
        self.pages.retain(|resident| resident.page != page);
    }

    fn contains(&self, page: PageId) -> bool {
        self.pages.iter().any(|resident| resident.page == page)
    }

    fn resident(&self) -> usize {
        self.pages.len()
    }
}
