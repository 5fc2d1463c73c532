//! Simple policies: one page is evicted whenever one comes in and DRAM is full.

use terrace_policy::replacement::{Answer, Made, PageId, Replacement, Touch};

/// A simple policy.
pub trait Simple: Send + 'static {
    /// Returns the resident pages, in any order.
    fn pages(&self) -> Vec<PageId>;

    /// Handles a touch of a resident page.
    fn hit(&mut self, touch: Touch);

    /// Evicts a page of a DRAM that has one.
    fn evict(&mut self) -> PageId;

    /// Brings in a page for a touch, or without one if it is only prefetched.
    fn insert(&mut self, page: PageId, touch: Option<Touch>);

    /// Forgets a page, resident or not.
    fn remove(&mut self, page: PageId);

    /// Marks a page as clean.
    fn cleaned(&mut self, _page: PageId) {}

    /// Returns the pages to be written now.
    fn writes(&mut self) -> Vec<PageId> {
        Vec::new()
    }
}

/// Makes a DRAM of `capacity` pages under a simple policy.
pub fn dram(capacity: usize, policy: impl Simple) -> Made {
    Ok(Box::new(Dram { capacity, policy }))
}

struct Dram<P> {
    capacity: usize,
    policy: P,
}

impl<P: Simple> Dram<P> {
    fn admit(&mut self, page: PageId, touch: Option<Touch>) -> Option<PageId> {
        let full = self.resident() == self.capacity;
        let evicted = full.then(|| self.policy.evict());
        self.policy.insert(page, touch);
        evicted
    }
}

impl<P: Simple> Replacement for Dram<P> {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            self.policy.hit(touch);
            return Answer::Hit;
        }
        let evicted = self.admit(touch.page, Some(touch));
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        self.admit(page, None)
    }

    fn evict(&mut self) -> Option<PageId> {
        (self.resident() > 0).then(|| self.policy.evict())
    }

    fn cleaned(&mut self, page: PageId) {
        self.policy.cleaned(page);
    }

    fn writes(&mut self) -> Vec<PageId> {
        self.policy.writes()
    }

    fn remove(&mut self, page: PageId) {
        self.policy.remove(page);
    }

    fn contains(&self, page: PageId) -> bool {
        self.policy.pages().contains(&page)
    }

    fn resident(&self) -> usize {
        self.policy.pages().len()
    }
}
