//! SIEVE: a queue whose pages keep their places, and a hand that goes from old to new.

use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

#[derive(Clone, Copy)]
struct Entry {
    page: PageId,
    /// Not only prefetched.
    touched: bool,
    visited: bool,
}

pub struct Sieve {
    capacity: usize,
    /// The oldest first.
    queue: Vec<Entry>,
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
        self.queue.iter().position(|entry| entry.page == page)
    }

    fn evict(&mut self) -> PageId {
        while self.queue[self.hand].visited {
            self.queue[self.hand].visited = false;
            self.advance(1);
        }
        let victim = self.queue[self.hand].page;
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

    fn insert(&mut self, page: PageId, touched: bool) -> Option<PageId> {
        let full = self.queue.len() == self.capacity;
        let evicted = full.then(|| self.evict());
        self.queue.push(Entry {
            page,
            touched,
            visited: false,
        });
        evicted
    }
}

impl Replacement for Sieve {
    fn touch(&mut self, touch: Touch) -> Answer {
        if let Some(place) = self.place(touch.page) {
            let entry = &mut self.queue[place];
            entry.visited = entry.touched;
            entry.touched = true;
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
