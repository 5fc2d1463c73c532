//! 2Q: new pages pass through a short queue, and only those touched again after they left it get
//! into the main queue.
//!
//! Johnson and Shasha, "2Q: A low overhead high performance buffer management replacement
//! algorithm", VLDB 1994: the full version. `A1in` holds new pages, first in, first out; a touch
//! there changes nothing, because touches close together are correlated. `A1out` remembers the
//! pages that left `A1in`. A page touched while it is remembered goes to `Am`, which is LRU. A1in
//! is kept near 25 % of DRAM (`kin`) and A1out remembers 50 % as many pages as DRAM holds (`kout`),
//! as the paper advises.
//!
//! The paper does not say whether a remembered page counts in A1out while room is made for it; here
//! it has left before.
//!
//! A prefetched page comes into A1in; it is not remembered if it leaves without a touch.

use super::lists::{Lists, State};
use super::make::pages;
use super::{Answer, Entry, Make, PageId, Replacement, Touch};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "2q",
    summary: "new pages pass a queue; LRU for those touched again after it (Johnson 1994)",
    paper: "Johnson and Shasha, 2Q, VLDB 1994: the full version",
    when: "Scans mixed with pages that are used again: the pages of a scan do not push out the others.",
    evidence: crate::registry::Evidence {
        open: "Whether a remembered page counts in A1out while room is made for it: here it has \
               left.",
        compared: "libCacheSim on its trace cloudPhysicsIO: its miss ratios, to the last digit \
                   that it prints",
    },
    make: Make::Online(&|capacity, params, _| {
        Ok(Box::new(TwoQ::new(capacity, TwoQSettings::take(params)?)))
    }),
};

settings! {
    /// Settings of `2q`.
    pub struct TwoQSettings {
        /// share of the pages that A1in keeps
        kin: f64 = 0.25, 0.0..=1.0;
        /// pages that A1out remembers, as a share of those of DRAM
        kout: f64 = 0.5, 0.0..=16.0;
    }
}

/// 2Q, the full version.
pub struct TwoQ {
    capacity: usize,
    /// Pages of A1in above which one of them is evicted first (the paper's Kin).
    a1in_target: usize,
    /// Most pages that A1out remembers (the paper's Kout).
    a1out_limit: usize,
    lists: Lists<Place, 4>,
}

/// List that a page is in.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    /// New pages, the newest at the front.
    A1in,
    /// Pages of the main queue, the most recently used at the front.
    Am,
    /// Remembered pages, the last to leave A1in at the front.
    A1out,
    /// In A1in, fetched and not touched since.
    Fetched,
}

impl State for Place {
    const RESIDENT: usize = 2;

    #[inline]
    fn list(self) -> usize {
        match self {
            Self::Fetched => Self::A1in as usize,
            place => place as usize,
        }
    }
}

impl TwoQ {
    /// Makes an empty DRAM of `capacity` pages.
    pub fn new(capacity: usize, settings: TwoQSettings) -> Self {
        Self {
            capacity,
            a1in_target: pages(settings.kin, capacity),
            a1out_limit: pages(settings.kout, capacity),
            lists: Lists::default(),
        }
    }

    /// Brings in a page that may be remembered: it leaves A1out before room is made.
    #[cold]
    fn admit(&mut self, page: PageId, place: Place) -> Option<PageId> {
        self.remove(page);
        let evicted = self.make_room();
        self.lists.push(page, place);
        evicted
    }

    /// The paper's `reclaimfor`.
    fn make_room(&mut self) -> Option<PageId> {
        match self.resident() < self.capacity {
            true => None,
            false => self.evict(),
        }
    }
}

impl Replacement for TwoQ {
    fn evict(&mut self) -> Option<PageId> {
        if self.lists.len(Place::A1in) <= self.a1in_target
            && let Some((evicted, _)) = self.lists.pop_back(Place::Am)
        {
            return Some(evicted);
        }
        let (evicted, place) = self.lists.pop_back(Place::A1in)?;
        if place != Place::Fetched {
            self.lists.push(evicted, Place::A1out);
            if self.lists.len(Place::A1out) > self.a1out_limit {
                self.lists.pop_back(Place::A1out);
            }
        }
        Some(evicted)
    }

    fn evicts(&self) -> bool {
        true
    }

    #[inline]
    fn touch(&mut self, touch: Touch) -> Answer {
        let page = touch.page;
        let evicted = match self.lists.get(page) {
            Place::Am => {
                self.lists.move_to_front(page);
                return Answer::Hit;
            }
            Place::A1in => return Answer::Hit,
            Place::Fetched => {
                *self.lists.at(page) = Place::A1in;
                return Answer::Hit;
            }
            Place::A1out => self.admit(page, Place::Am),
            Place::Nowhere => self.admit(page, Place::A1in),
        };
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        self.admit(page, Place::Fetched)
    }

    fn remove(&mut self, page: PageId) {
        self.lists.remove(page);
    }

    fn expect(&self, pages: &[PageId]) {
        self.lists.expect(pages);
    }

    fn contains(&self, page: PageId) -> bool {
        self.lists.is_resident(page)
    }

    fn resident(&self) -> usize {
        self.lists.resident()
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    /// With four pages of DRAM, A1in is to have one, and A1out remembers two.
    #[test]
    fn remembered_pages_come_into_am() {
        let mut twoq = TwoQ::new(4, TwoQSettings::default());
        // 5 and 6 push 1 and 2 out of A1in. Both are remembered.
        assert_eq!(evictions(&mut twoq, &[1, 2, 3, 4, 5, 6]), [1, 2]);
        // A1in has more than its share, so that it makes room for 1, 3 and 2 in Am.
        assert_eq!(evictions(&mut twoq, &[1, 3, 2]), [3, 4, 5]);
        assert_eq!(
            (twoq.lists.len(Place::A1in), twoq.lists.len(Place::Am)),
            (1, 3)
        );
        // Now Am makes room, for 4, which is remembered, and for 1, which is not: pages that
        // leave Am are forgotten.
        assert_eq!(evictions(&mut twoq, &[4, 1]), [1, 3]);
        assert_eq!(
            (twoq.lists.len(Place::A1in), twoq.lists.len(Place::Am)),
            (2, 2)
        );
        assert_eq!(evictions(&mut twoq, &[7]), [6]);
    }

    #[test]
    fn a_touch_in_a1in_changes_nothing() {
        assert_eq!(
            evictions(
                &mut TwoQ::new(4, TwoQSettings::default()),
                &[1, 2, 3, 4, 1, 1, 5]
            ),
            [1]
        );
    }

    #[test]
    fn a_prefetched_page_is_remembered_only_if_it_was_touched() {
        let mut twoq = TwoQ::new(4, TwoQSettings::default());
        assert_eq!(twoq.prefetch(PageId(8)), None);
        assert_eq!(twoq.prefetch(PageId(9)), None);
        assert_eq!(evictions(&mut twoq, &[9, 1, 2, 3, 4]), [8, 9]);
        assert_eq!(evictions(&mut twoq, &[8, 9]), [1, 2]);
        assert_eq!(
            (twoq.lists.len(Place::A1in), twoq.lists.len(Place::Am)),
            (3, 1)
        );
    }
}
