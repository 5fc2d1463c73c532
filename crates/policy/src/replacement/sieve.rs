//! SIEVE: a hand goes from the oldest page to the newest, again and again, and evicts the first
//! page not visited since it last passed; pages that it spares keep their places.
//!
//! Zhang, Yang, Yue, Vigfusson and Rashmi, "SIEVE is simpler than LRU: an efficient turn-key
//! eviction algorithm for web caches", NSDI 2024, section 3. It differs from
//! [`clock`](super::clock) in where pages come in: always at the newest end of the queue, not
//! behind the hand. So the pages that the hand spared stay together, and new pages are sifted out
//! soon. The first touch of a prefetched page is no visit, like the touch that brings a page in.

use super::queue::{Pages, Queue, Rule, Use};
use super::{Entry, Make, PageId};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "sieve",
    summary: "the first page not visited since the hand passed (Zhang 2024)",
    paper: "Zhang et al., SIEVE, NSDI 2024, section 3",
    when: "Skewed popularity, as of the web; it does not help against scans.",
    evidence: crate::registry::Evidence {
        open: "Whether the touch that brings a page in is a visit: here it is not.",
        compared: "libCacheSim on its trace cloudPhysicsIO: its miss ratios, to the last digit \
                   that it prints",
    },
    make: Make::Online(&|capacity, _, _| Ok(Box::new(Sieve::new(capacity)))),
};

/// SIEVE.
pub type Sieve = Queue<Hand>;

/// Page at which the search for a victim continues; the oldest page if `None`.
#[derive(Default)]
pub struct Hand(Option<PageId>);

impl Rule for Hand {
    const OLDEST_IS_NEXT: bool = false;

    fn evict(&mut self, pages: &mut Pages) -> Option<PageId> {
        while let Some(page) = self.0.or(pages.oldest()) {
            if pages.get(page) != Use::Referenced {
                self.0 = Some(page);
                self.remove(pages, page);
                return Some(page);
            }
            *pages.at(page) = Use::Clear;
            self.0 = pages.before(page);
        }
        None
    }

    fn remove(&mut self, pages: &mut Pages, page: PageId) {
        if self.0 == Some(page) {
            self.0 = pages.before(page);
        }
        pages.remove(page);
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;
    use crate::replacement::Replacement as _;

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
