//! CLOCK, or second chance: first in, first out, but a page whose reference bit is set when its
//! turn comes loses the bit instead of its place.
//!
//! Corbató, "A paging experiment with the Multics system", MIT Project MAC report MAC-M-384,
//! 1968. A hand goes round over the pages in the order in which they came; a page that comes in
//! takes its place right behind the hand, where the victim was. That circle is the queue below,
//! cut open at the hand. The touch that brings a page in leaves its bit clear, and so does the
//! first touch of a page that was prefetched: it takes a second touch to earn the second chance.

use super::list::{Links, List};
use super::table::Table;
use super::{Answer, PageId, Replacement, Touch};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Absent,
    /// Prefetched and not touched since.
    Fetched,
    /// Touched, with the reference bit clear.
    Clear,
    /// Touched, with the reference bit set.
    Referenced,
}

/// CLOCK with one reference bit a page.
pub struct Clock {
    capacity: usize,
    links: Links,
    /// The page under the hand is at the back, the one that it passed last at the front.
    circle: List,
    states: Table<State>,
}

impl Clock {
    /// A DRAM of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            links: Links::default(),
            circle: List::default(),
            states: Table::default(),
        }
    }

    fn admit(&mut self, page: PageId, state: State) -> Option<PageId> {
        let full = self.circle.len() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        self.circle.push_front(&mut self.links, page);
        self.states.set(page, state);
        evicted
    }

    fn evict(&mut self) -> Option<PageId> {
        while let Some(page) = self.circle.back() {
            if self.states.get(page) != State::Referenced {
                self.remove(page);
                return Some(page);
            }
            self.states.set(page, State::Clear);
            self.circle.move_to_front(&mut self.links, page);
        }
        None
    }
}

impl Replacement for Clock {
    fn touch(&mut self, touch: Touch) -> Answer {
        match self.states.get(touch.page) {
            State::Absent => {
                let evicted = self.admit(touch.page, State::Clear);
                return Answer::Miss { evicted };
            }
            State::Fetched => self.states.set(touch.page, State::Clear),
            State::Clear | State::Referenced => self.states.set(touch.page, State::Referenced),
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
            self.circle.remove(&mut self.links, page);
            self.states.set(page, State::Absent);
        }
    }

    fn expect(&self, pages: &[PageId]) {
        self.states.expect(pages);
        self.links.expect(pages);
    }

    fn next_victim(&self) -> Option<PageId> {
        self.circle.back()
    }

    fn contains(&self, page: PageId) -> bool {
        self.states.get(page) != State::Absent
    }

    fn resident(&self) -> usize {
        self.circle.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    #[test]
    fn a_referenced_page_gets_a_second_chance() {
        // 1 2 3 fill the circle and 1 is referenced. For 4 the hand clears 1 and takes 2, for 5
        // it takes 3, for 6 it is back at 1, whose bit is clear now.
        let mut clock = Clock::new(3);
        assert_eq!(evictions(&mut clock, &[1, 2, 3, 1, 4, 5, 6]), [2, 3, 1]);
    }

    #[test]
    fn the_first_touch_of_a_prefetched_page_is_no_reference() {
        let mut clock = Clock::new(2);
        clock.prefetch(PageId(1));
        clock.prefetch(PageId(2));
        assert_eq!(evictions(&mut clock, &[1, 2, 2, 3]), [1]);
    }

    #[test]
    fn where_all_are_referenced_it_is_first_in_first_out() {
        let mut clock = Clock::new(3);
        assert_eq!(evictions(&mut clock, &[1, 2, 3, 3, 2, 1, 4]), [1]);
    }
}
