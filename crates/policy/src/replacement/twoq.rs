//! 2Q: new pages pass through a short queue, and only those touched again after they left it get
//! into the main one.
//!
//! Johnson and Shasha, "2Q: A low overhead high performance buffer management replacement
//! algorithm", VLDB 1994: the full version. `A1in` holds new pages, first in, first out; a touch
//! there changes nothing, for touches close together are correlated. `A1out` remembers which pages
//! left `A1in`. A page touched while it is remembered goes to `Am`, which is LRU. A1in is kept
//! near 25 % of DRAM and A1out remembers 50 % as many pages as DRAM holds, as the paper advises.
//!
//! The paper does not say whether a remembered page counts in A1out while room is made for it;
//! here it has left before.
//!
//! A prefetched page comes into A1in; if nobody has touched it when it leaves, it is not
//! remembered.

use super::list::{Links, List};
use super::table::Table;
use super::{Answer, PageId, Replacement, Touch};

/// 2Q, the full version.
pub struct TwoQ {
    capacity: usize,
    /// Pages of A1in above which one of them goes first (the paper's Kin).
    a1in_target: usize,
    /// Pages that A1out remembers at most (the paper's Kout).
    a1out_limit: usize,
    links: Links,
    /// The newest page is at the front.
    a1in: List,
    /// The page that left A1in last is at the front.
    a1out: List,
    /// The most recently used page is at the front.
    am: List,
    places: Table<Place>,
}

/// Where a page is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    /// In A1in, fetched and not touched since.
    Fetched,
    A1in,
    A1out,
    Am,
}

impl TwoQ {
    /// A DRAM of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            a1in_target: capacity / 4,
            a1out_limit: capacity / 2,
            links: Links::default(),
            a1in: List::default(),
            a1out: List::default(),
            am: List::default(),
            places: Table::default(),
        }
    }

    #[cold]
    fn miss(&mut self, page: PageId) -> Option<PageId> {
        if self.places.get(page) != Place::A1out {
            return self.admit(page, Place::A1in);
        }
        self.a1out.remove(&mut self.links, page);
        let evicted = self.make_room();
        self.am.push_front(&mut self.links, page);
        self.places.set(page, Place::Am);
        evicted
    }

    /// A page that is not remembered comes into A1in.
    fn admit(&mut self, page: PageId, place: Place) -> Option<PageId> {
        let evicted = self.make_room();
        self.a1in.push_front(&mut self.links, page);
        self.places.set(page, place);
        evicted
    }

    /// The paper's `reclaimfor`.
    fn make_room(&mut self) -> Option<PageId> {
        if self.resident() < self.capacity {
            return None;
        }
        if self.a1in.len() <= self.a1in_target {
            let evicted = self.am.pop_back(&mut self.links)?;
            self.places.set(evicted, Place::Nowhere);
            return Some(evicted);
        }
        let evicted = self.a1in.pop_back(&mut self.links)?;
        if self.places.get(evicted) == Place::Fetched {
            self.places.set(evicted, Place::Nowhere);
        } else {
            self.remember(evicted);
        }
        Some(evicted)
    }

    fn remember(&mut self, page: PageId) {
        self.a1out.push_front(&mut self.links, page);
        self.places.set(page, Place::A1out);
        if self.a1out.len() > self.a1out_limit
            && let Some(oldest) = self.a1out.pop_back(&mut self.links)
        {
            self.places.set(oldest, Place::Nowhere);
        }
    }
}

impl Replacement for TwoQ {
    #[inline]
    fn touch(&mut self, touch: Touch) -> Answer {
        let page = touch.page;
        match self.places.get(page) {
            Place::Am => self.am.move_to_front(&mut self.links, page),
            Place::A1in => {}
            Place::Fetched => self.places.set(page, Place::A1in),
            Place::A1out | Place::Nowhere => {
                let evicted = self.miss(page);
                return Answer::Miss { evicted };
            }
        }
        Answer::Hit
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.remove(page);
        self.admit(page, Place::Fetched)
    }

    fn remove(&mut self, page: PageId) {
        match self.places.get(page) {
            Place::Nowhere => return,
            Place::Fetched | Place::A1in => self.a1in.remove(&mut self.links, page),
            Place::A1out => self.a1out.remove(&mut self.links, page),
            Place::Am => self.am.remove(&mut self.links, page),
        }
        self.places.set(page, Place::Nowhere);
    }

    fn expect(&self, pages: &[PageId]) {
        self.places.expect(pages);
    }

    fn contains(&self, page: PageId) -> bool {
        !matches!(self.places.get(page), Place::Nowhere | Place::A1out)
    }

    fn resident(&self) -> usize {
        self.a1in.len() + self.am.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    /// With four pages of DRAM, A1in is to have one, and A1out remembers two.
    #[test]
    fn remembered_pages_come_into_am() {
        let mut twoq = TwoQ::new(4);
        // 5 and 6 push 1 and 2 out of A1in. Both are remembered.
        assert_eq!(evictions(&mut twoq, &[1, 2, 3, 4, 5, 6]), [1, 2]);
        // A1in has more than its share, so that it makes room for 1, 3 and 2 in Am.
        assert_eq!(evictions(&mut twoq, &[1, 3, 2]), [3, 4, 5]);
        assert_eq!((twoq.a1in.len(), twoq.am.len()), (1, 3));
        // Now Am makes room, for 4, which is remembered, and for 1, which is not: pages that
        // leave Am are forgotten.
        assert_eq!(evictions(&mut twoq, &[4, 1]), [1, 3]);
        assert_eq!((twoq.a1in.len(), twoq.am.len()), (2, 2));
        assert_eq!(evictions(&mut twoq, &[7]), [6]);
    }

    #[test]
    fn a_touch_in_a1in_changes_nothing() {
        assert_eq!(evictions(&mut TwoQ::new(4), &[1, 2, 3, 4, 1, 1, 5]), [1]);
    }

    #[test]
    fn a_prefetched_page_is_remembered_only_if_it_was_touched() {
        let mut twoq = TwoQ::new(4);
        assert_eq!(twoq.prefetch(PageId(8)), None);
        assert_eq!(twoq.prefetch(PageId(9)), None);
        assert_eq!(evictions(&mut twoq, &[9, 1, 2, 3, 4]), [8, 9]);
        assert_eq!(evictions(&mut twoq, &[8, 9]), [1, 2]);
        assert_eq!((twoq.a1in.len(), twoq.am.len()), (3, 1));
    }
}
