//! ARC, the adaptive replacement cache: divides DRAM between pages touched once and pages touched
//! more often, and adapts the division to the misses.
//!
//! Megiddo and Modha, "ARC: A self-tuning, low overhead replacement cache", FAST 2003, figure 4.
//! `T1` holds pages touched once recently, `T2` pages touched at least twice; `B1` and `B2`
//! remember the pages evicted from each. A miss on a remembered page shows which of the two was too
//! small, and moves `p`, the target size of T1. All four are LRU lists. p is a real number, as the
//! paper's quotients are.
//!
//! A prefetched page comes into T1 and its first touch leaves it there, because it has then been
//! touched once. If it is evicted before, it is not remembered; a prefetch does not move p.

use super::lists::{Lists, State};
use super::{Answer, Entry, Make, PageId, Replacement, Touch};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "arc",
    summary: "divides DRAM between pages touched once and more often, and adapts (Megiddo 2003)",
    paper: "Megiddo and Modha, ARC, FAST 2003, figure 4",
    when: "Programs whose mix of recency and frequency changes: a good default where LRU is not enough.",
    evidence: crate::registry::Evidence {
        open: "What becomes of prefetched pages: the first touch leaves one in T1, and it is no \
               ghost without.",
        compared: "libCacheSim on its trace cloudPhysicsIO: its miss ratios, to the last digit \
                   that it prints",
    },
    make: Make::Online(&|capacity, _, _| Ok(Box::new(Arc::new(capacity)))),
};

/// The adaptive replacement cache.
pub struct Arc {
    capacity: usize,
    /// Target size of T1, from 0 to the capacity.
    p: f64,
    /// The most recently used page of each list is at its front.
    lists: Lists<Place, 5>,
}

/// List that a page is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    T1,
    T2,
    B1,
    B2,
    /// In T1, fetched and not touched since.
    Fetched,
}

impl State for Place {
    const RESIDENT: usize = 2;

    #[inline]
    fn list(self) -> usize {
        match self {
            Self::Fetched => Self::T1 as usize,
            place => place as usize,
        }
    }
}

impl Arc {
    /// Makes an empty DRAM of `capacity` pages.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            p: 0.0,
            lists: Lists::default(),
        }
    }

    #[cold]
    fn miss(&mut self, page: PageId) -> Option<PageId> {
        let place = self.lists.get(page);
        let b1 = self.lists.len(Place::B1) as f64;
        let b2 = self.lists.len(Place::B2) as f64;
        match place {
            // Case II: T1 was too small.
            Place::B1 => self.p = (self.p + (b2 / b1).max(1.0)).min(self.capacity as f64),
            // Case III: T2 was too small.
            Place::B2 => self.p = (self.p - (b1 / b2).max(1.0)).max(0.0),
            _ => return self.admit(page, Place::T1),
        }
        let evicted = self.replace(place == Place::B2);
        self.lists.put(page, Place::T2);
        evicted
    }

    /// Case IV: brings a page that is not remembered into T1.
    fn admit(&mut self, page: PageId, place: Place) -> Option<PageId> {
        let evicted = self.make_room();
        self.lists.push(page, place);
        evicted
    }

    /// Makes room for a new page, in DRAM and among the remembered pages: T1 and B1 together have
    /// at most as many pages as DRAM, all four lists twice as many.
    fn make_room(&mut self) -> Option<PageId> {
        let [t1, t2, b1, b2] =
            [Place::T1, Place::T2, Place::B1, Place::B2].map(|list| self.lists.len(list));
        if t1 >= self.capacity {
            return self.lists.pop_back(Place::T1).map(|(page, _)| page);
        }
        if t1 + b1 >= self.capacity {
            self.lists.pop_back(Place::B1);
        } else if t1 + b1 + t2 + b2 >= 2 * self.capacity {
            self.lists.pop_back(Place::B2);
        }
        self.replace(false)
    }

    /// The paper's REPLACE: evicts the least recently used page of T1 or T2, so that the size of T1
    /// approaches p. No effect while there is room.
    fn replace(&mut self, touched_is_in_b2: bool) -> Option<PageId> {
        match self.resident() < self.capacity {
            true => None,
            false => self.shrink(touched_is_in_b2),
        }
    }

    /// Evicts such a page whether there is room or not.
    fn shrink(&mut self, touched_is_in_b2: bool) -> Option<PageId> {
        let t1 = self.lists.len(Place::T1) as f64;
        let above = t1 > self.p || (touched_is_in_b2 && t1 == self.p);
        // T2 can have no page to evict only while there is room.
        let has_t2 = self.lists.len(Place::T2) > 0;
        let (from, to) = match t1 > 0.0 && (above || !has_t2) {
            true => (Place::T1, Place::B1),
            false => (Place::T2, Place::B2),
        };
        let (evicted, place) = self.lists.pop_back(from)?;
        if place != Place::Fetched {
            self.lists.push(evicted, to);
        }
        Some(evicted)
    }
}

impl Replacement for Arc {
    #[inline]
    fn touch(&mut self, touch: Touch) -> Answer {
        let page = touch.page;
        match self.lists.get(page) {
            Place::T2 => self.lists.move_to_front(page),
            Place::T1 => self.lists.put(page, Place::T2),
            Place::Fetched => self.lists.put(page, Place::T1),
            Place::B1 | Place::B2 | Place::Nowhere => {
                let evicted = self.miss(page);
                return Answer::Miss { evicted };
            }
        }
        Answer::Hit
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        self.remove(page);
        self.admit(page, Place::Fetched)
    }

    fn evict(&mut self) -> Option<PageId> {
        self.shrink(false)
    }

    fn evicts(&self) -> bool {
        true
    }

    fn remove(&mut self, page: PageId) {
        self.lists.remove(page);
    }

    fn expect(&self, pages: &[PageId]) {
        self.lists.expect(pages);
        self.lists.expect_links(pages);
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

    /// Pages in T1, T2, B1 and B2.
    fn sizes(arc: &Arc) -> [usize; 4] {
        [Place::T1, Place::T2, Place::B1, Place::B2].map(|list| arc.lists.len(list))
    }

    /// Cases I to IV of the paper's figure 4, worked out by hand for four pages of DRAM.
    #[test]
    fn every_case_of_the_paper() {
        let mut arc = Arc::new(4);
        // Case IV, |L1| = |T1| = c: 1 goes and is not remembered.
        assert_eq!(evictions(&mut arc, &[1, 2, 3, 4, 5]), [1]);
        assert_eq!(sizes(&arc), [4, 0, 0, 0]);
        // Case I: 3 was in T1.
        assert_eq!(evictions(&mut arc, &[3]), []);
        assert_eq!(sizes(&arc), [3, 1, 0, 0]);
        // Case IV, |L1| < c: T1 has more than p = 0, so that 2 goes to B1.
        assert_eq!(evictions(&mut arc, &[6]), [2]);
        assert_eq!(sizes(&arc), [3, 1, 1, 0]);
        // Case II: 2 was in B1, p grows to 1; T1 has still more.
        assert_eq!(evictions(&mut arc, &[2]), [4]);
        assert_eq!((arc.p, sizes(&arc)), (1.0, [2, 2, 1, 0]));
        // Case IV with |L1| < c, then with |L1| = c > |T1|: 4, the oldest of B1, is forgotten.
        assert_eq!(evictions(&mut arc, &[7, 8]), [5, 6]);
        assert_eq!(sizes(&arc), [2, 2, 2, 0]);
        assert!(arc.lists.get(PageId(4)) == Place::Nowhere);
        // Case II: p grows to 2, which T1 has: 3, the oldest of T2, goes to B2.
        assert_eq!(evictions(&mut arc, &[6]), [3]);
        assert_eq!((arc.p, sizes(&arc)), (2.0, [2, 2, 1, 1]));
        // Case III: 3 was in B2, p shrinks to 1, which T1 exceeds.
        assert_eq!(evictions(&mut arc, &[3]), [7]);
        assert_eq!((arc.p, sizes(&arc)), (1.0, [1, 3, 2, 0]));
    }

    /// Case IV where all four lists together have 2c pages: the oldest of B2 is forgotten.
    #[test]
    fn twice_the_capacity_is_remembered() {
        let mut arc = Arc::new(2);
        assert_eq!(evictions(&mut arc, &[1, 2, 1, 2, 3, 3, 4]), [1, 2]);
        assert_eq!(sizes(&arc), [1, 1, 0, 2]);
        assert_eq!(evictions(&mut arc, &[5]), [4]);
        assert_eq!(sizes(&arc), [1, 1, 1, 1]);
        assert!(arc.lists.get(PageId(1)) == Place::Nowhere);
    }

    #[test]
    fn the_first_touch_of_a_prefetched_page_is_its_first() {
        let mut arc = Arc::new(2);
        assert_eq!(arc.prefetch(PageId(1)), None);
        assert_eq!(evictions(&mut arc, &[1]), []);
        assert_eq!(sizes(&arc), [1, 0, 0, 0]);
        assert_eq!(evictions(&mut arc, &[1]), []);
        assert_eq!(sizes(&arc), [0, 1, 0, 0]);
    }
}
