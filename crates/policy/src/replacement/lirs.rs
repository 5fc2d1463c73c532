//! LIRS: ranks pages by the distance between their last two touches (the inter-reference recency),
//! not by the time since the last touch.
//!
//! Jiang and Zhang, "LIRS: An efficient low inter-reference recency set replacement policy to
//! improve buffer cache performance", SIGMETRICS 2002, section 3.3. Pages of low inter-reference
//! recency (LIR) have nearly all of DRAM and are never evicted directly; the others (HIR) have 1 %
//! of it, at least one page, in the queue `Q`, whose front is evicted. The stack `S` has all pages
//! touched since the LIR page at its bottom, evicted ones too: a HIR page touched while it is in S
//! has a lower inter-reference recency than that LIR page's recency, and takes its place.
//!
//! The paper leaves the size of S open; here S has at most twice as many pages as DRAM (`stack`),
//! and forgets the page that was evicted first. A prefetched page comes into Q and leaves S as it
//! is, because S is an order of touches.
//!
//! libCacheSim differs in one point: when a resident HIR page that is not in S is touched, it also
//! makes the LIR page at the bottom of S HIR, which the paper does not. On its trace cloudPhysicsIO
//! its miss ratio is 0.51532 with 20,000 pages of DRAM, that of the paper's LIRS 0.51525.

use super::lists::{Lists, State};
use super::make::pages;
use super::{Answer, Entry, Make, PageId, Replacement, Touch};
use crate::list::{Links, List};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "lirs",
    summary: "keeps pages whose last two touches were close together (Jiang 2002)",
    paper: "Jiang and Zhang, LIRS, SIGMETRICS 2002, section 3.3",
    when: "Loops and scans larger than DRAM, where LRU keeps nothing.",
    evidence: crate::registry::Evidence {
        open: "The size of the stack S: here at most twice the pages of DRAM (`stack`).",
        compared: "libCacheSim on its trace cloudPhysicsIO: within 0.0001 of its miss ratios; \
                   it makes a LIR page HIR where the paper does not (0.51525 here, 0.51532 \
                   there with 20,000 pages)",
    },
    make: Make::Online(&|capacity, params, _| {
        Ok(Box::new(Lirs::new(capacity, LirsSettings::take(params)?)))
    }),
};

settings! {
    /// Settings of `lirs`.
    pub struct LirsSettings {
        /// share of the pages that HIR pages have, at least one page
        hirs: f64 = 0.01, 0.0..=1.0;
        /// most pages of the stack S, as a multiple of those of DRAM
        stack: f64 = 2.0, 1.0..=16.0;
    }
}

/// Low inter-reference recency set.
pub struct Lirs {
    capacity: usize,
    /// Most pages of S.
    stack_limit: usize,
    /// Most LIR pages, and their present number.
    lir_limit: usize,
    lirs: usize,
    stack_links: Links,
    /// S: the most recently used page is at the front. Its back, the paper's bottom, is a LIR page.
    stack: List,
    /// Q, and the pages of S that are not resident.
    lists: Lists<Place, 3>,
}

/// State of a page.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    /// In Q only: resident and HIR. The next page to be evicted is at the back.
    Queue,
    /// In S, not resident; the last to be evicted is at the front.
    Gone,
    /// In S and in Q: resident and HIR.
    StackAndQueue,
    /// In S, resident and LIR.
    Lir,
}

impl State for Place {
    /// LIR pages are resident, too.
    const RESIDENT: usize = 1;

    #[inline]
    fn list(self) -> usize {
        match self {
            Self::Nowhere | Self::Lir => 0,
            Self::Queue | Self::StackAndQueue => 1,
            Self::Gone => 2,
        }
    }
}

impl Lirs {
    /// Makes an empty DRAM of `capacity` pages.
    pub fn new(capacity: usize, settings: LirsSettings) -> Self {
        let hirs = pages(settings.hirs, capacity).max(1);
        Self {
            capacity,
            stack_limit: pages(settings.stack, capacity),
            lir_limit: capacity.saturating_sub(hirs),
            lirs: 0,
            stack_links: Links::default(),
            stack: List::default(),
            lists: Lists::default(),
        }
    }

    /// Touches the LIR page at the bottom of S, so that another page gets there.
    #[cold]
    fn touch_bottom(&mut self, page: PageId) {
        self.stack.move_to_front(&mut self.stack_links, page.0);
        self.prune();
    }

    #[cold]
    fn miss(&mut self, page: PageId) -> Option<PageId> {
        let evicted = self.make_room();
        self.place_touched(page);
        evicted
    }

    /// Puts a page that is not LIR on top of S: as LIR if it was in S or there are too few LIR
    /// pages, otherwise as HIR.
    #[cold]
    fn place_touched(&mut self, page: PageId) {
        let was_in_stack = matches!(self.lists.get(page), Place::StackAndQueue | Place::Gone);
        if was_in_stack {
            self.stack.remove(&mut self.stack_links, page.0);
        }
        self.stack.push_front(&mut self.stack_links, page.0);
        if was_in_stack || self.lirs < self.lir_limit {
            self.lists.put(page, Place::Lir);
            self.lirs += 1;
        } else {
            self.lists.put(page, Place::StackAndQueue);
        }
        if self.lirs > self.lir_limit {
            self.demote_bottom();
        }
        self.prune();
        while self.stack.len() > self.stack_limit
            && let Some(oldest) = self.lists.back(Place::Gone)
        {
            self.leave_stack(oldest, Place::Nowhere);
        }
    }

    /// Makes the LIR page at the bottom of S HIR.
    fn demote_bottom(&mut self) {
        if let Some(bottom) = self.stack.back().map(PageId) {
            self.lirs -= 1;
            self.leave_stack(bottom, Place::Queue);
        }
    }

    /// Removes pages from the bottom of S until a LIR page is there.
    fn prune(&mut self) {
        while let Some(bottom) = self.stack.back().map(PageId) {
            match self.lists.get(bottom) {
                Place::Lir => return,
                Place::Gone => self.leave_stack(bottom, Place::Nowhere),
                _ => {
                    self.stack.remove(&mut self.stack_links, bottom.0);
                    *self.lists.at(bottom) = Place::Queue;
                }
            }
        }
    }

    /// Takes a page out of S, and puts it into another place.
    fn leave_stack(&mut self, page: PageId, place: Place) {
        self.stack.remove(&mut self.stack_links, page.0);
        self.lists.put(page, place);
    }

    fn make_room(&mut self) -> Option<PageId> {
        match self.resident() < self.capacity {
            true => None,
            false => self.evict(),
        }
    }
}

impl Replacement for Lirs {
    #[inline]
    fn touch(&mut self, touch: Touch) -> Answer {
        let page = touch.page;
        match self.lists.get(page) {
            Place::Lir if self.stack.back() == Some(page.0) => self.touch_bottom(page),
            Place::Lir => self.stack.move_to_front(&mut self.stack_links, page.0),
            Place::StackAndQueue | Place::Queue => self.place_touched(page),
            Place::Gone | Place::Nowhere => {
                let evicted = self.miss(page);
                return Answer::Miss { evicted };
            }
        }
        Answer::Hit
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        let evicted = self.make_room();
        let place = match self.lists.get(page) {
            Place::Gone => Place::StackAndQueue,
            _ => Place::Queue,
        };
        self.lists.put(page, place);
        evicted
    }

    /// Without pages in Q, the LIR page at the bottom of S becomes HIR first.
    fn evict(&mut self) -> Option<PageId> {
        if self.lists.len(Place::Queue) == 0 {
            self.demote_bottom();
            self.prune();
        }
        let (evicted, place) = self.lists.pop_back(Place::Queue)?;
        if place == Place::StackAndQueue {
            self.lists.push(evicted, Place::Gone);
        }
        Some(evicted)
    }

    fn evicts(&self) -> bool {
        true
    }

    fn remove(&mut self, page: PageId) {
        match self.lists.get(page) {
            Place::Nowhere | Place::Queue => self.lists.remove(page),
            Place::StackAndQueue | Place::Gone => self.leave_stack(page, Place::Nowhere),
            Place::Lir => {
                self.leave_stack(page, Place::Nowhere);
                self.lirs -= 1;
                self.prune();
            }
        }
    }

    fn expect(&self, pages: &[PageId]) {
        self.lists.expect(pages);
        pages
            .iter()
            .for_each(|page| self.stack_links.expect(page.0));
    }

    fn contains(&self, page: PageId) -> bool {
        !matches!(self.lists.get(page), Place::Nowhere | Place::Gone)
    }

    fn resident(&self) -> usize {
        self.lirs + self.lists.resident()
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    const A: u32 = 0;
    const B: u32 = 1;
    const C: u32 = 2;
    const D: u32 = 3;
    const E: u32 = 4;

    /// The pages of S and of Q, from the one touched last to the one touched first.
    fn stack_and_queue(lirs: &Lirs) -> (Vec<u32>, Vec<u32>) {
        let walk = |back: Option<PageId>, before: &dyn Fn(&PageId) -> Option<PageId>| {
            let mut pages: Vec<_> = std::iter::successors(back, before)
                .map(|page| page.0)
                .collect();
            pages.reverse();
            pages
        };
        let stack = walk(lirs.stack.back().map(PageId), &|page| {
            lirs.stack_links.before(page.0).map(PageId)
        });
        let queue = walk(lirs.lists.back(Place::Queue), &|page| {
            lirs.lists.before(*page)
        });
        (stack, queue)
    }

    /// The paper's example (section 3.3, figure 3) with two LIR pages and one HIR page: A and B
    /// are LIR, E is HIR and resident, and D is remembered.
    fn state_a() -> Lirs {
        let mut lirs = Lirs::new(3, LirsSettings::default());
        assert_eq!(evictions(&mut lirs, &[A, B, D, A, E]), [D]);
        let expected = (vec![E, A, D, B], vec![E]);
        assert_eq!(stack_and_queue(&lirs), expected);
        lirs
    }

    #[test]
    fn a_lir_page_leaves_the_bottom() {
        let mut lirs = state_a();
        assert_eq!(evictions(&mut lirs, &[B]), []);
        assert_eq!(stack_and_queue(&lirs), (vec![B, E, A], vec![E]));
    }

    #[test]
    fn a_resident_hir_page_of_the_stack_becomes_lir() {
        let mut lirs = state_a();
        assert_eq!(evictions(&mut lirs, &[E]), []);
        assert_eq!(stack_and_queue(&lirs), (vec![E, A], vec![B]));
    }

    #[test]
    fn a_remembered_page_becomes_lir() {
        let mut lirs = state_a();
        assert_eq!(evictions(&mut lirs, &[D]), [E]);
        assert_eq!(stack_and_queue(&lirs), (vec![D, E, A], vec![B]));
    }

    #[test]
    fn an_unknown_page_becomes_hir() {
        let mut lirs = state_a();
        assert_eq!(evictions(&mut lirs, &[C]), [E]);
        assert_eq!(stack_and_queue(&lirs), (vec![C, E, A, D, B], vec![C]));
    }

    #[test]
    fn the_stack_is_bounded() {
        let mut lirs = Lirs::new(3, LirsSettings::default());
        assert_eq!(evictions(&mut lirs, &[0, 1, 2, 3, 4, 5]), [2, 3, 4]);
        assert_eq!(lirs.stack.len(), 6);
        // 2 went first and is forgotten: a touch of it does not make it LIR.
        assert_eq!(evictions(&mut lirs, &[6, 2, 7]), [5, 6, 2]);
    }

    #[test]
    fn a_prefetch_is_no_touch() {
        let mut lirs = state_a();
        assert_eq!(lirs.prefetch(PageId(D)), Some(PageId(E)));
        assert_eq!(stack_and_queue(&lirs), (vec![E, A, D, B], vec![D]));
    }
}
