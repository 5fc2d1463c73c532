//! CLOCK, or second chance: first in, first out, but a page whose reference bit is set when its
//! turn comes loses the bit instead of its place.
//!
//! Corbató, "A paging experiment with the Multics system", MIT Project MAC report MAC-M-384,
//! 1968. A hand goes round over the pages in the order in which they came; a page that comes in
//! takes its place right behind the hand, where the victim was. That circle is the queue below,
//! cut open at the hand. The touch that brings a page in leaves its bit clear: it takes a second
//! touch to earn the second chance.

use super::list::{Links, List};
use super::table::Table;
use super::{Answer, PageId, Replacement, Touch};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Absent,
    /// Resident, with the reference bit clear.
    Clear,
    /// Resident, with the reference bit set.
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

    fn admit(&mut self, page: PageId) -> Option<PageId> {
        let full = self.circle.len() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        self.circle.push_front(&mut self.links, page);
        self.states.set(page, State::Clear);
        evicted
    }

    fn evict(&mut self) -> Option<PageId> {
        while let Some(page) = self.circle.back() {
            if self.states.get(page) == State::Clear {
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
        if self.contains(touch.page) {
            self.states.set(touch.page, State::Referenced);
            return Answer::Hit;
        }
        let evicted = self.admit(touch.page);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.admit(page)
    }

    fn remove(&mut self, page: PageId) {
        if self.contains(page) {
            self.circle.remove(&mut self.links, page);
            self.states.set(page, State::Absent);
        }
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
    fn where_all_are_referenced_it_is_first_in_first_out() {
        let mut clock = Clock::new(3);
        assert_eq!(evictions(&mut clock, &[1, 2, 3, 3, 2, 1, 4]), [1]);
    }
}
