//! SIEVE: a queue whose pages keep their places, and a hand that goes from old to new.

use terrace_policy::replacement::{PageId, Touch};

use super::simple::Simple;

#[derive(Clone, Copy)]
struct Entry {
    page: PageId,
    /// Not only prefetched.
    touched: bool,
    visited: bool,
}

#[derive(Default)]
pub struct Sieve {
    /// The oldest first.
    queue: Vec<Entry>,
    /// The place that the hand points to; past the end it starts again.
    hand: usize,
}

impl Sieve {
    /// Moves the hand towards newer pages, and from the newest to the oldest.
    fn advance(&mut self, places: usize) {
        self.hand += places;
        if self.hand >= self.queue.len() {
            self.hand = 0;
        }
    }
}

impl Simple for Sieve {
    fn pages(&self) -> Vec<PageId> {
        self.queue.iter().map(|entry| entry.page).collect()
    }

    fn hit(&mut self, touch: Touch) {
        for entry in &mut self.queue {
            if entry.page == touch.page {
                entry.visited = entry.touched;
                entry.touched = true;
            }
        }
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

    fn insert(&mut self, page: PageId, touch: Option<Touch>) {
        self.queue.push(Entry {
            page,
            touched: touch.is_some(),
            visited: false,
        });
    }

    fn remove(&mut self, page: PageId) {
        if let Some(place) = self.queue.iter().position(|entry| entry.page == page) {
            self.queue.remove(place);
            if place < self.hand {
                self.hand -= 1;
            }
            self.advance(0);
        }
    }
}
