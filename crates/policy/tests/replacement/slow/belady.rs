//! Belady's MIN: looks through the future for every page.

use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

pub struct Belady {
    capacity: usize,
    /// Touches to come.
    future: Vec<PageId>,
    pages: Vec<PageId>,
}

impl Belady {
    pub fn new(capacity: usize, future: &[PageId]) -> Self {
        Self {
            capacity,
            future: future.to_vec(),
            pages: Vec::new(),
        }
    }

    /// The page touched last of all, or a page that never is.
    fn farthest(&self) -> Option<usize> {
        let next_touch = |page| self.future.iter().position(|other| *other == page);
        let distance = |page| next_touch(page).map_or((usize::MAX, page.0), |next| (next, 0));
        (0..self.pages.len()).max_by_key(|at| distance(self.pages[*at]))
    }
}

impl Replacement for Belady {
    fn touch(&mut self, touch: Touch) -> Answer {
        let page = self.future.remove(0);
        assert_eq!(page, touch.page, "touches come in order");
        if self.contains(page) {
            return Answer::Hit;
        }
        let evicted = self.prefetch(page);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        let full = self.pages.len() == self.capacity;
        let farthest = full.then(|| self.farthest()).flatten();
        let evicted = farthest.map(|at| self.pages.remove(at));
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
