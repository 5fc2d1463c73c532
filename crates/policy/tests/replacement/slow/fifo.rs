//! First in, first out.

use terrace_policy::replacement::{PageId, Touch};

use super::simple::Simple;
use super::take;

/// The page that came in first is first.
#[derive(Default)]
pub struct Fifo(Vec<PageId>);

impl Simple for Fifo {
    fn pages(&self) -> Vec<PageId> {
        self.0.clone()
    }

    fn hit(&mut self, _: Touch) {}

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
