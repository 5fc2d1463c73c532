//! SIEVE: a queue whose pages keep their places, and a hand that goes from old to new.

use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

pub struct Sieve {
    capacity: usize,
    /// Each page with its visited bit, the oldest first.
    queue: Vec<(PageId, bool)>,
    /// The place that the hand points to; past the end it starts again.
    hand: usize,
}

impl Sieve {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            queue: Vec::new(),
            hand: 0,
        }
    }

    fn place(&self, page: PageId) -> Option<usize> {
        self.queue.iter().position(|(other, _)| *other == page)
    }

    fn evict(&mut self) -> PageId {
        while self.queue[self.hand].1 {
            self.queue[self.hand].1 = false;
            self.advance(1);
        }
        let (victim, _) = self.queue[self.hand];
        self.remove(victim);
        victim
    }

    /// Moves the hand towards newer pages, and from the newest to the oldest.
    fn advance(&mut self, places: usize) {
        self.hand += places;
        if self.hand >= self.queue.len() {
            self.hand = 0;
        }
    }
}

impl Replacement for Sieve {
    fn touch(&mut self, touch: Touch) -> Answer {
        if let Some(place) = self.place(touch.page) {
            self.queue[place].1 = true;
            return Answer::Hit;
        }
        let evicted = self.prefetch(touch.page);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        let full = self.queue.len() == self.capacity;
        let evicted = full.then(|| self.evict());
        self.queue.push((page, false));
        evicted
    }

    fn remove(&mut self, page: PageId) {
        if let Some(place) = self.place(page) {
            self.queue.remove(place);
            if place < self.hand {
                self.hand -= 1;
            }
            self.advance(0);
        }
    }

    fn contains(&self, page: PageId) -> bool {
        self.place(page).is_some()
    }

    fn resident(&self) -> usize {
        self.queue.len()
    }
}
