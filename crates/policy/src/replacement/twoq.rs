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

use super::list::{Links, List};
use super::make::pages;
use super::table::Table;
use super::{Answer, Entry, Make, PageId, Replacement, Touch};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "2q",
    summary: "new pages pass a queue; LRU for those touched again after it (Johnson 1994)",
    paper: "Johnson and Shasha, 2Q, VLDB 1994: the full version",
    when: "Scans mixed with pages that are used again: the pages of a scan do not push out the others.",
    make: Make::Online(|capacity, params, _| {
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
    links: Links,
    /// New pages, the newest at the front.
    a1in: List,
    /// Remembered pages, the last to leave A1in at the front.
    a1out: List,
    /// Pages of the main queue, the most recently used at the front.
    am: List,
    places: Table<Place>,
}

/// List that a page is in.
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
    /// Makes an empty DRAM of `capacity` pages.
    pub fn new(capacity: usize, settings: TwoQSettings) -> Self {
        Self {
            capacity,
            a1in_target: pages(settings.kin, capacity),
            a1out_limit: pages(settings.kout, capacity),
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

    /// Brings a page that is not remembered into A1in.
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
        if self.a1in.len() <= self.a1in_target
            && let Some(evicted) = self.am.pop_back(&mut self.links)
        {
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
        let mut twoq = TwoQ::new(4, TwoQSettings::default());
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
        assert_eq!((twoq.a1in.len(), twoq.am.len()), (3, 1));
    }
}
