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

use super::list::{Links, List};
use super::make::pages;
use super::table::Table;
use super::{Answer, Entry, Make, PageId, Replacement, Touch};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "lirs",
    summary: "keeps pages whose last two touches were close together (Jiang 2002)",
    paper: "Jiang and Zhang, LIRS, SIGMETRICS 2002, section 3.3",
    when: "Loops and scans larger than DRAM, where LRU keeps nothing.",
    make: Make::Online(|capacity, params, _| {
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
    /// Links of `queue` and `gone`.
    queue_links: Links,
    /// Q: the next page to be evicted is at the back.
    queue: List,
    /// Pages of S that are not resident; the last to be evicted is at the front.
    gone: List,
    places: Table<Place>,
}

/// Lists that a page is in.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    /// In S, resident and LIR.
    Lir,
    /// In S and in Q: resident and HIR.
    StackAndQueue,
    /// In Q only: resident and HIR.
    Queue,
    /// In S, not resident.
    Gone,
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
            queue_links: Links::default(),
            queue: List::default(),
            gone: List::default(),
            places: Table::default(),
        }
    }

    /// Touches the LIR page at the bottom of S, so that another page gets there.
    #[cold]
    fn touch_bottom(&mut self, page: PageId) {
        self.stack.move_to_front(&mut self.stack_links, page);
        self.prune();
    }

    #[cold]
    fn touch_hir(&mut self, page: PageId) {
        self.queue.remove(&mut self.queue_links, page);
        self.place_touched(page);
    }

    #[cold]
    fn miss(&mut self, page: PageId) -> Option<PageId> {
        let evicted = self.make_room();
        if self.places.get(page) == Place::Gone {
            self.gone.remove(&mut self.queue_links, page);
        }
        self.place_touched(page);
        evicted
    }

    /// Puts a page that is in no queue on top of S: as LIR if it was in S or there are too few LIR
    /// pages, otherwise as HIR.
    fn place_touched(&mut self, page: PageId) {
        let was_in_stack = matches!(self.places.get(page), Place::StackAndQueue | Place::Gone);
        if was_in_stack {
            self.stack.remove(&mut self.stack_links, page);
        }
        self.stack.push_front(&mut self.stack_links, page);
        if was_in_stack || self.lirs < self.lir_limit {
            self.places.set(page, Place::Lir);
            self.lirs += 1;
        } else {
            self.places.set(page, Place::StackAndQueue);
            self.queue.push_front(&mut self.queue_links, page);
        }
        if self.lirs > self.lir_limit {
            self.demote_bottom();
        }
        self.prune();
        self.limit_stack();
    }

    /// Makes the LIR page at the bottom of S HIR.
    fn demote_bottom(&mut self) {
        if let Some(bottom) = self.stack.pop_back(&mut self.stack_links) {
            self.lirs -= 1;
            self.places.set(bottom, Place::Queue);
            self.queue.push_front(&mut self.queue_links, bottom);
        }
    }

    /// Removes pages from the bottom of S until a LIR page is there.
    fn prune(&mut self) {
        while let Some(bottom) = self.stack.back() {
            match self.places.get(bottom) {
                Place::Lir => return,
                Place::Gone => self.forget(bottom),
                _ => {
                    self.stack.remove(&mut self.stack_links, bottom);
                    self.places.set(bottom, Place::Queue);
                }
            }
        }
    }

    fn limit_stack(&mut self) {
        while self.stack.len() > self.stack_limit
            && let Some(oldest) = self.gone.back()
        {
            self.forget(oldest);
        }
    }

    /// Removes a page that is not resident from S.
    fn forget(&mut self, page: PageId) {
        self.stack.remove(&mut self.stack_links, page);
        self.gone.remove(&mut self.queue_links, page);
        self.places.set(page, Place::Nowhere);
    }

    fn make_room(&mut self) -> Option<PageId> {
        if self.resident() < self.capacity {
            return None;
        }
        let evicted = self.queue.pop_back(&mut self.queue_links)?;
        if self.places.get(evicted) == Place::StackAndQueue {
            self.gone.push_front(&mut self.queue_links, evicted);
            self.places.set(evicted, Place::Gone);
        } else {
            self.places.set(evicted, Place::Nowhere);
        }
        Some(evicted)
    }
}

impl Replacement for Lirs {
    #[inline]
    fn touch(&mut self, touch: Touch) -> Answer {
        let page = touch.page;
        match self.places.get(page) {
            Place::Lir if self.stack.back() == Some(page) => self.touch_bottom(page),
            Place::Lir => self.stack.move_to_front(&mut self.stack_links, page),
            Place::StackAndQueue | Place::Queue => self.touch_hir(page),
            Place::Gone | Place::Nowhere => {
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
        let evicted = self.make_room();
        let mut place = Place::Queue;
        if self.places.get(page) == Place::Gone {
            self.gone.remove(&mut self.queue_links, page);
            place = Place::StackAndQueue;
        }
        self.places.set(page, place);
        self.queue.push_front(&mut self.queue_links, page);
        evicted
    }

    fn remove(&mut self, page: PageId) {
        match self.places.get(page) {
            Place::Nowhere => return,
            Place::Lir => {
                self.stack.remove(&mut self.stack_links, page);
                self.lirs -= 1;
                self.prune();
            }
            Place::StackAndQueue => {
                self.stack.remove(&mut self.stack_links, page);
                self.queue.remove(&mut self.queue_links, page);
            }
            Place::Queue => self.queue.remove(&mut self.queue_links, page),
            Place::Gone => return self.forget(page),
        }
        self.places.set(page, Place::Nowhere);
    }

    fn expect(&self, pages: &[PageId]) {
        self.places.expect(pages);
        self.stack_links.expect(pages);
    }

    fn contains(&self, page: PageId) -> bool {
        !matches!(self.places.get(page), Place::Nowhere | Place::Gone)
    }

    fn resident(&self) -> usize {
        self.lirs + self.queue.len()
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
        let walk = |list: &List, links: &Links| {
            let pages = std::iter::successors(list.back(), |page| list.before(links, *page));
            let mut pages: Vec<_> = pages.map(|page| page.0).collect();
            pages.reverse();
            pages
        };
        let stack = walk(&lirs.stack, &lirs.stack_links);
        (stack, walk(&lirs.queue, &lirs.queue_links))
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
