//! Age-based: CLOCK with a counter a page, so that pages which were referenced in several turns
//! of the hand stay for several turns without a reference.
//!
//! Awad, Blagodurov and Solihin, "Write-aware management of NVM-based memory extensions", ICS
//! 2016, section 5.4. When the hand passes a page it counts up if the reference bit is set, and
//! clears the bit; otherwise it counts down, and a page whose counter is then zero or less goes.
//! The paper names no bound; here the counter stops at 7, so that a page that was hot for long
//! can be forgotten. With a bound of 1 the policy would be CLOCK ([`clock`](super::clock)), which it
//! follows in what counts as a reference.

use super::list::{Links, List};
use super::table::Table;
use super::{Answer, PageId, Replacement, Touch};

/// A page goes in this turn of the hand without a reference at the latest.
const MAX_AGE: u8 = 7;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Use {
    #[default]
    Absent,
    /// Prefetched and not touched since.
    Fetched,
    /// Touched, with the reference bit clear.
    Clear,
    /// Touched, with the reference bit set.
    Referenced,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    used: Use,
    age: u8,
}

/// Age-based replacement.
pub struct Age {
    capacity: usize,
    links: Links,
    /// The page under the hand is at the back, the one that it passed last at the front.
    circle: List,
    states: Table<State>,
}

impl Age {
    /// A DRAM of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            links: Links::default(),
            circle: List::default(),
            states: Table::default(),
        }
    }

    fn admit(&mut self, page: PageId, used: Use) -> Option<PageId> {
        let full = self.circle.len() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        self.circle.push_front(&mut self.links, page);
        self.states.set(page, State { used, age: 0 });
        evicted
    }

    fn evict(&mut self) -> Option<PageId> {
        while let Some(page) = self.circle.back() {
            let state = self.states.at(page);
            if state.used == Use::Referenced {
                state.age = (state.age + 1).min(MAX_AGE);
                state.used = Use::Clear;
            } else {
                state.age = state.age.saturating_sub(1);
            }
            if state.age == 0 {
                self.remove(page);
                return Some(page);
            }
            self.circle.move_to_front(&mut self.links, page);
        }
        None
    }
}

impl Replacement for Age {
    fn touch(&mut self, touch: Touch) -> Answer {
        match self.states.get(touch.page).used {
            Use::Absent => {
                let evicted = self.admit(touch.page, Use::Clear);
                return Answer::Miss { evicted };
            }
            Use::Fetched => self.states.at(touch.page).used = Use::Clear,
            Use::Clear | Use::Referenced => self.states.at(touch.page).used = Use::Referenced,
        }
        Answer::Hit
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.admit(page, Use::Fetched)
    }

    fn remove(&mut self, page: PageId) {
        if self.contains(page) {
            self.circle.remove(&mut self.links, page);
            self.states.set(page, State::default());
        }
    }

    fn expect(&self, pages: &[PageId]) {
        self.states.expect(pages);
    }

    fn contains(&self, page: PageId) -> bool {
        self.states.get(page).used != Use::Absent
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
    fn a_page_referenced_in_two_turns_outlives_two_without() {
        // 1 is referenced in the turns for 3 and for 4 and has age 2 then. 5 and 6 find it
        // without a reference: at 5 it is down to 1, at 6 to 0, before the hand gets to 5.
        let mut age = Age::new(2);
        assert_eq!(evictions(&mut age, &[1, 2, 1, 3, 1, 4, 5, 6]), [2, 3, 4, 1]);
    }

    #[test]
    fn a_page_referenced_in_one_turn_is_treated_as_by_clock() {
        let mut age = Age::new(3);
        assert_eq!(evictions(&mut age, &[1, 2, 3, 1, 4, 5, 6]), [2, 3, 1]);
    }
}
