//! Age-based replacement: a circle of pages with counters, and a hand.

use terrace_policy::params::Params;
use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

use super::number;

#[derive(Clone, Copy)]
struct Frame {
    page: PageId,
    /// Not only prefetched.
    touched: bool,
    referenced: bool,
    counter: i32,
}

pub struct Age {
    capacity: usize,
    most: i32,
    /// After the last comes the first.
    circle: Vec<Frame>,
    /// The place that the hand points to.
    hand: usize,
}

impl Age {
    pub fn new(capacity: usize, params: &mut Params) -> Self {
        Self {
            capacity,
            most: number(params, "turns", 7.0) as i32,
            circle: Vec::new(),
            hand: 0,
        }
    }

    fn place(&self, page: PageId) -> Option<usize> {
        self.circle.iter().position(|frame| frame.page == page)
    }

    fn evict(&mut self) -> PageId {
        loop {
            let frame = &mut self.circle[self.hand];
            if frame.referenced {
                frame.counter += 1;
            } else {
                frame.counter -= 1;
            }
            frame.counter = frame.counter.min(self.most);
            frame.referenced = false;
            if frame.counter <= 0 {
                let victim = frame.page;
                self.remove(victim);
                return victim;
            }
            self.hand = (self.hand + 1) % self.circle.len();
        }
    }

    fn insert(&mut self, page: PageId, touched: bool) -> Option<PageId> {
        let full = self.circle.len() == self.capacity;
        let evicted = full.then(|| self.evict());
        let frame = Frame {
            page,
            touched,
            referenced: false,
            counter: 0,
        };
        // Right behind the hand, which goes on to point to what it pointed to.
        self.circle.insert(self.hand, frame);
        self.hand = (self.hand + 1) % self.circle.len();
        evicted
    }
}

impl Replacement for Age {
    fn touch(&mut self, touch: Touch) -> Answer {
        if let Some(place) = self.place(touch.page) {
            let frame = &mut self.circle[place];
            frame.referenced = frame.touched;
            frame.touched = true;
            return Answer::Hit;
        }
        let evicted = self.insert(touch.page, true);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.insert(page, false)
    }

    fn remove(&mut self, page: PageId) {
        if let Some(place) = self.place(page) {
            self.circle.remove(place);
            if place < self.hand {
                self.hand -= 1;
            }
            if self.hand == self.circle.len() {
                self.hand = 0;
            }
        }
    }

    fn contains(&self, page: PageId) -> bool {
        self.place(page).is_some()
    }

    fn resident(&self) -> usize {
        self.circle.len()
    }
}
