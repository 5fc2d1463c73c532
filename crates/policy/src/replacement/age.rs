//! Age-based replacement: CLOCK with a counter for each page, so that pages referenced in several
//! turns of the hand stay for several turns without a reference.
//!
//! Awad, Blagodurov and Solihin, "Write-aware management of NVM-based memory extensions", ICS 2016,
//! section 5.4. When the hand passes a page, the counter goes up if the reference bit is set, and
//! the bit is cleared; otherwise the counter goes down, and the page is evicted if it is then zero
//! or less. The paper gives no bound; here the counter stops at 7 (`turns`), so that a page that
//! was hot for long can be forgotten. With a bound of 1 the policy is CLOCK
//! ([`clock`](super::clock)), which defines what counts as a reference.

use super::queue::{Pages, Queue, Rule, Use};
use super::table::Table;
use super::{Entry, Make, PageId};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "age",
    summary: "CLOCK with a counter for each page (Awad 2016)",
    paper: "Awad 2016, 5.4",
    when: "To repeat the paper; pages that were hot for long survive a phase without use.",
    evidence: crate::registry::Evidence {
        open: "A bound of the counter: here it stops at 7 (`turns`).",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::Online(&|capacity, params, _| {
        Ok(Box::new(Age::new(capacity, AgeSettings::take(params)?)))
    }),
};

settings! {
    /// Settings of `age`.
    pub struct AgeSettings {
        /// turns of the hand without a reference after which a page goes at the latest
        turns: u8 = 7, 1..=u8::MAX;
    }
}

/// Age-based replacement.
pub type Age = Queue<Ages>;

/// Counter of each page, and their bound.
pub struct Ages {
    ages: Table<u8>,
    most: u8,
}

impl Age {
    /// Makes an empty DRAM of `capacity` pages.
    pub fn new(capacity: usize, settings: AgeSettings) -> Self {
        let (ages, most) = (Table::default(), settings.turns);
        Self::with(capacity, Ages { ages, most })
    }
}

impl Rule for Ages {
    const OLDEST_IS_NEXT: bool = false;

    fn evict(&mut self, pages: &mut Pages) -> Option<PageId> {
        while let Some(page) = pages.oldest() {
            let age = self.ages.at(page);
            *age = match pages.get(page) {
                Use::Referenced => age.saturating_add(1).min(self.most),
                _ => age.saturating_sub(1),
            };
            if *age == 0 {
                pages.remove(page);
                return Some(page);
            }
            pages.put(page, Use::Clear);
        }
        None
    }

    fn remove(&mut self, pages: &mut Pages, page: PageId) {
        pages.remove(page);
        self.ages.clear(page);
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
        let mut age = Age::new(2, AgeSettings::default());
        assert_eq!(evictions(&mut age, &[1, 2, 1, 3, 1, 4, 5, 6]), [2, 3, 4, 1]);
    }

    #[test]
    fn a_page_referenced_in_one_turn_is_treated_as_by_clock() {
        let mut age = Age::new(3, AgeSettings::default());
        assert_eq!(evictions(&mut age, &[1, 2, 3, 1, 4, 5, 6]), [2, 3, 1]);
    }
}
