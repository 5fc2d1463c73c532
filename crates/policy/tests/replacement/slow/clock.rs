//! CLOCK: a circle of pages and a hand.

use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

pub struct Clock {
    capacity: usize,
    /// Each page with its reference bit; after the last comes the first.
    circle: Vec<(PageId, bool)>,
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
        self.circle.iter().position(|(other, _)| *other == page)
    }

    fn evict(&mut self) -> PageId {
        while self.circle[self.hand].1 {
            self.circle[self.hand].1 = false;
            self.hand = (self.hand + 1) % self.circle.len();
        }
        let (victim, _) = self.circle[self.hand];
        self.remove(victim);
        victim
    }
}

impl Replacement for Clock {
    fn touch(&mut self, touch: Touch) -> Answer {
        if let Some(place) = self.place(touch.page) {
            self.circle[place].1 = true;
            return Answer::Hit;
        }
        let evicted = self.prefetch(touch.page);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        let full = self.circle.len() == self.capacity;
        let evicted = full.then(|| self.evict());
        // Right behind the hand, which goes on to point to what it pointed to.
        self.circle.insert(self.hand, (page, false));
        self.hand = (self.hand + 1) % self.circle.len();
        evicted
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
