//! CLOCK, or second chance: first in, first out, but a page whose reference bit is set when its
//! turn comes loses the bit instead of its place.
//!
//! Corbató, "A paging experiment with the Multics system", MIT Project MAC report MAC-M-384, 1968.
//! A hand goes round over the pages in the order of their arrival; a new page takes the place right
//! behind the hand, where the victim was. The circle is the queue below, cut open at the hand. The
//! touch that brings a page in leaves its bit clear, and so does the first touch of a prefetched
//! page: the second touch earns the second chance.

use super::queue::{Pages, Queue, Rule, Use};
use super::{Entry, Make, PageId};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "clock",
    summary: "second chance: first in, first out, past pages referenced since",
    paper: "Corbato, Multics, Project MAC M-384, 1968",
    when: "Systems that have only reference bits: close to LRU at a fraction of its cost.",
    evidence: crate::registry::Evidence {
        open: "Whether the touch that brings a page in sets its bit: here it does not.",
        compared: "libCacheSim on its trace cloudPhysicsIO: its miss ratios, to the last digit \
                   that it prints",
    },
    make: Make::Online(&|capacity, _, _| Ok(Box::new(Clock::new(capacity)))),
};

/// CLOCK with one reference bit for each page.
pub type Clock = Queue<SecondChance>;

/// Evicts the oldest page that was not referenced since the hand passed it.
#[derive(Default)]
pub struct SecondChance;

impl Rule for SecondChance {
    const LINKS: bool = true;

    fn evict(&mut self, pages: &mut Pages) -> Option<PageId> {
        while let Some(page) = pages.oldest() {
            if pages.get(page) != Use::Referenced {
                pages.remove(page);
                return Some(page);
            }
            pages.put(page, Use::Clear);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;
    use crate::replacement::Replacement as _;

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
