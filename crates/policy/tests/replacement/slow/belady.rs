//! Belady's MIN: looks through the future for every page.

use terrace_policy::replacement::{PageId, Touch};

use super::simple::Simple;
use super::take;

pub struct Belady {
    /// Touches to come.
    future: Vec<PageId>,
    pages: Vec<PageId>,
}

impl Belady {
    pub fn new(future: &[PageId]) -> Self {
        let (future, pages) = (future.to_vec(), Vec::new());
        Self { future, pages }
    }
}

impl Simple for Belady {
    fn pages(&self) -> Vec<PageId> {
        self.pages.clone()
    }

    fn hit(&mut self, touch: Touch) {
        assert_eq!(self.future.remove(0), touch.page, "touches come in order");
    }

    /// Evicts the page touched last of all, or a page that never is.
    fn evict(&mut self) -> PageId {
        let next_touch = |page| self.future.iter().position(|other| *other == page);
        let distance = |page| next_touch(page).map_or((usize::MAX, page.0), |next| (next, 0));
        let farthest = (0..self.pages.len()).max_by_key(|at| distance(self.pages[*at]));
        self.pages.remove(farthest.expect("DRAM is full"))
    }

    fn insert(&mut self, page: PageId, touch: Option<Touch>) {
        touch.into_iter().for_each(|touch| self.hit(touch));
        self.pages.push(page);
    }

    fn remove(&mut self, page: PageId) {
        take(&mut self.pages, page);
    }
}
