//! Least recently used.

use terrace_policy::replacement::{PageId, Touch};

use super::simple::Simple;
use super::take;

/// The least recently used page is first.
#[derive(Default)]
pub struct Lru(Vec<PageId>);

impl Simple for Lru {
    fn pages(&self) -> Vec<PageId> {
        self.0.clone()
    }

    fn hit(&mut self, touch: Touch) {
        take(&mut self.0, touch.page);
        self.0.push(touch.page);
    }

    fn evict(&mut self) -> PageId {
        self.0.remove(0)
    }

    fn insert(&mut self, page: PageId, _: Option<Touch>) {
        self.0.push(page);
    }

    fn remove(&mut self, page: PageId) {
        take(&mut self.0, page);
    }
}
