//! 2Q: new pages pass through a short queue, and only those touched again after they left it get
//! into the main one.
//!
//! Johnson and Shasha, "2Q: A low overhead high performance buffer management replacement
//! algorithm", VLDB 1994: the full version. `A1in` holds new pages, first in, first out; a touch
//! there changes nothing, for touches close together are correlated. `A1out` remembers which pages
//! left `A1in`. A page touched while it is remembered goes to `Am`, which is LRU. A1in is kept
//! near 25 % of DRAM and A1out remembers 50 % as many pages as DRAM holds, as the paper advises.
//!
//! A prefetched page comes into A1in; if nobody has touched it when it leaves, it is not
//! remembered.

use super::list::{Links, List};
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
    places: Vec<Place>,
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
            places: Vec::new(),
        }
    }

    #[inline]
    fn place(&self, page: PageId) -> Place {
        self.places.get(page.index()).copied().unwrap_or_default()
    }

    #[cold]
    fn miss(&mut self, page: PageId) -> Option<PageId> {
        if self.place(page) != Place::A1out {
            return self.admit(page, Place::A1in);
        }
        self.a1out.remove(&mut self.links, page);
        let evicted = self.make_room();
        self.am.push_front(&mut self.links, page);
        self.places[page.index()] = Place::Am;
        evicted
    }

    /// A page that is not remembered comes into A1in.
    fn admit(&mut self, page: PageId, place: Place) -> Option<PageId> {
        self.cover(page);
        let evicted = self.make_room();
        self.a1in.push_front(&mut self.links, page);
        self.places[page.index()] = place;
        evicted
    }

    /// The paper's `reclaimfor`.
    fn make_room(&mut self) -> Option<PageId> {
        if self.resident() < self.capacity {
            return None;
        }
        if self.a1in.len() <= self.a1in_target {
            let evicted = self.am.pop_back(&mut self.links)?;
            self.places[evicted.index()] = Place::Nowhere;
            return Some(evicted);
        }
        let evicted = self.a1in.pop_back(&mut self.links)?;
        if self.place(evicted) == Place::Fetched {
            self.places[evicted.index()] = Place::Nowhere;
        } else {
            self.remember(evicted);
        }
        Some(evicted)
    }

    fn remember(&mut self, page: PageId) {
        self.a1out.push_front(&mut self.links, page);
        self.places[page.index()] = Place::A1out;
        if self.a1out.len() > self.a1out_limit
            && let Some(oldest) = self.a1out.pop_back(&mut self.links)
        {
            self.places[oldest.index()] = Place::Nowhere;
        }
    }

    fn cover(&mut self, page: PageId) {
        self.links.cover(page);
        if page.index() >= self.places.len() {
            let pages = (page.index() + 1).next_power_of_two();
            self.places.resize(pages, Place::Nowhere);
        }
    }
}

impl Replacement for TwoQ {
    #[inline]
    fn touch(&mut self, touch: Touch) -> Answer {
        let page = touch.page;
        match self.place(page) {
            Place::Am => self.am.move_to_front(&mut self.links, page),
            Place::A1in => {}
            Place::Fetched => self.places[page.index()] = Place::A1in,
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
        match self.place(page) {
            Place::Nowhere => return,
            Place::Fetched | Place::A1in => self.a1in.remove(&mut self.links, page),
            Place::A1out => self.a1out.remove(&mut self.links, page),
            Place::Am => self.am.remove(&mut self.links, page),
        }
        self.places[page.index()] = Place::Nowhere;
    }

    fn contains(&self, page: PageId) -> bool {
        !matches!(self.place(page), Place::Nowhere | Place::A1out)
    }

    fn resident(&self) -> usize {
        self.a1in.len() + self.am.len()
    }
}
