//! CLOCK: a circle of pages and a hand.

use terrace_policy::replacement::{PageId, Touch};

use super::circle::Circle;
use super::simple::Simple;

#[derive(Default)]
pub struct Clock(Circle);

impl Simple for Clock {
    fn pages(&self) -> Vec<PageId> {
        self.0.pages()
    }

    fn hit(&mut self, touch: Touch) {
        self.0.touch(touch.page);
    }

    fn evict(&mut self) -> PageId {
        while self.0.at_hand().referenced {
            self.0.at_hand().referenced = false;
            self.0.advance();
        }
        let victim = self.0.at_hand().page;
        self.0.remove(victim);
        victim
    }

    fn insert(&mut self, page: PageId, touch: Option<Touch>) {
        self.0.insert(page, touch.is_some());
    }

    fn remove(&mut self, page: PageId) {
        self.0.remove(page);
    }
}
