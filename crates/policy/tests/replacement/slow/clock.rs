//! CLOCK: a circle of pages and a hand.

use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

#[derive(Clone, Copy)]
struct Frame {
    page: PageId,
    /// Not only prefetched.
    touched: bool,
    referenced: bool,
}

pub struct Clock {
    capacity: usize,
    /// After the last comes the first.
    circle: Vec<Frame>,
    /// The place that the hand points to.
    hand: usize,
}

impl Clock {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            circle: Vec::new(),
            hand: 0,
        }
    }

    fn place(&self, page: PageId) -> Option<usize> {
        self.circle.iter().position(|frame| frame.page == page)
    }

    fn evict(&mut self) -> PageId {
        while self.circle[self.hand].referenced {
            self.circle[self.hand].referenced = false;
            self.hand = (self.hand + 1) % self.circle.len();
        }
        let victim = self.circle[self.hand].page;
        self.remove(victim);
        victim
    }

    fn insert(&mut self, page: PageId, touched: bool) -> Option<PageId> {
        let full = self.circle.len() == self.capacity;
        let evicted = full.then(|| self.evict());
        let frame = Frame {
            page,
            touched,
            referenced: false,
        };
        // Right behind the hand, which goes on to point to what it pointed to.
        self.circle.insert(self.hand, frame);
        self.hand = (self.hand + 1) % self.circle.len();
        evicted
    }
}

impl Replacement for Clock {
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
