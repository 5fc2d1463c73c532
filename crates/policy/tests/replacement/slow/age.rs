//! Age-based replacement: a circle of pages with counters, and a hand.

use terrace_policy::params::Params;
use terrace_policy::replacement::{PageId, Touch};

use super::circle::Circle;
use super::number;
use super::simple::Simple;

pub struct Age {
    most: i32,
    circle: Circle,
}

impl Age {
    pub fn new(params: &mut Params) -> Self {
        Self {
            most: number(params, "turns", 7.0) as i32,
            circle: Circle::default(),
        }
    }
}

impl Simple for Age {
    fn pages(&self) -> Vec<PageId> {
        self.circle.pages()
    }

    fn hit(&mut self, touch: Touch) {
        self.circle.touch(touch.page);
    }

    fn evict(&mut self) -> PageId {
        loop {
            let frame = self.circle.at_hand();
            if frame.referenced {
                frame.counter += 1;
            } else {
                frame.counter -= 1;
            }
            frame.counter = frame.counter.min(self.most);
            frame.referenced = false;
            if frame.counter <= 0 {
                let victim = frame.page;
                self.circle.remove(victim);
                return victim;
            }
            self.circle.advance();
        }
    }

    fn insert(&mut self, page: PageId, touch: Option<Touch>) {
        self.circle.insert(page, touch.is_some());
    }

    fn remove(&mut self, page: PageId) {
        self.circle.remove(page);
    }
}
