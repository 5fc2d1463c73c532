//! SIEVE: a hand goes from the oldest page to the newest, again and again, and takes the first
//! page that was not visited since it last came by; pages that it spares keep their places.
//!
//! Zhang, Yang, Yue, Vigfusson and Rashmi, "SIEVE is simpler than LRU: an efficient turn-key
//! eviction algorithm for web caches", NSDI 2024, section 3. It differs from
//! [`clock`](super::clock) in where pages come in: always at the newest end of the queue, not
//! behind the hand. So what the hand spared stays together, and newcomers are sifted out soon.
//! The first touch of a page that was prefetched is no visit, like the touch that brings one in.

use super::list::{Links, List};
use super::table::Table;
use super::{Answer, PageId, Replacement, Touch};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Absent,
    /// Prefetched and not touched since.
    Fetched,
    Unvisited,
    Visited,
}

/// SIEVE.
pub struct Sieve {
    capacity: usize,
    links: Links,
    /// The newest page is at the front.
    queue: List,
    states: Table<State>,
    /// Where the search for a victim goes on; at the oldest page if none.
    hand: Option<PageId>,
}

impl Sieve {
    /// A DRAM of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            links: Links::default(),
            queue: List::default(),
            states: Table::default(),
            hand: None,
        }
    }

    fn admit(&mut self, page: PageId, state: State) -> Option<PageId> {
        let full = self.queue.len() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        self.queue.push_front(&mut self.links, page);
        self.states.set(page, state);
        evicted
    }

    fn evict(&mut self) -> Option<PageId> {
        while let Some(page) = self.hand.or(self.queue.back()) {
            if self.states.get(page) != State::Visited {
                self.hand = Some(page);
                self.remove(page);
                return Some(page);
            }
            self.states.set(page, State::Unvisited);
            self.hand = self.queue.before(&self.links, page);
        }
        None
    }
}

impl Replacement for Sieve {
    fn touch(&mut self, touch: Touch) -> Answer {
        match self.states.get(touch.page) {
            State::Absent => {
                let evicted = self.admit(touch.page, State::Unvisited);
                return Answer::Miss { evicted };
            }
            State::Fetched => self.states.set(touch.page, State::Unvisited),
            State::Unvisited | State::Visited => self.states.set(touch.page, State::Visited),
        }
        Answer::Hit
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.admit(page, State::Fetched)
    }

    fn remove(&mut self, page: PageId) {
        if self.contains(page) {
            if self.hand == Some(page) {
                self.hand = self.queue.before(&self.links, page);
            }
            self.queue.remove(&mut self.links, page);
            self.states.set(page, State::Absent);
        }
    }

    fn expect(&self, pages: &[PageId]) {
        self.states.expect(pages);
    }

    fn contains(&self, page: PageId) -> bool {
        self.states.get(page) != State::Absent
    }

    fn resident(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    #[test]
    fn the_hand_goes_on_where_it_was_and_spared_pages_keep_their_places() {
        // In the queue, oldest first, 1* 2 3* 4 (* is visited). For 5 the hand spares 1 and
        // takes 2; for 6 it spares 3 and takes 4; for 7 it takes 5, the next one, while CLOCK
        // would take 1.
        let mut sieve = Sieve::new(4);
        assert_eq!(
            evictions(&mut sieve, &[1, 2, 3, 4, 1, 3, 5, 6, 7]),
            [2, 4, 5]
        );
    }

    #[test]
    fn a_removed_page_takes_the_hand_one_further() {
        let mut sieve = Sieve::new(3);
        // The hand has taken 1 and is at 2.
        assert_eq!(evictions(&mut sieve, &[1, 2, 3, 4]), [1]);
        sieve.remove(PageId(2));
        assert_eq!(evictions(&mut sieve, &[5, 6]), [3]);
    }
}
