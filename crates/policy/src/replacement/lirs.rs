//! LIRS: ranks pages by the distance between their last two touches (the inter-reference recency),
//! not by the time since the last one.
//!
//! Jiang and Zhang, "LIRS: An efficient low inter-reference recency set replacement policy to
//! improve buffer cache performance", SIGMETRICS 2002, section 3.3. Pages of low inter-reference
//! recency (LIR) have nearly all of DRAM and never go directly; the others (HIR) have 1 % of it,
//! at least one page, in the queue `Q`, whose front goes. The stack `S` has all pages, also some
//! that went, that were touched since the LIR page at its bottom was: a HIR page touched while it
//! is in S has a lower inter-reference recency than that LIR page's recency, and takes its place.
//!
//! The paper leaves the size of S open; here S has at most twice as many pages as DRAM, and the
//! page that went first is forgotten first. A prefetched page comes into Q and leaves S as it is:
//! S is an order of touches.

use super::list::{Links, List};
use super::{Answer, PageId, Replacement, Touch};

/// Low inter-reference recency set.
pub struct Lirs {
    capacity: usize,
    /// LIR pages at most, and now.
    lir_limit: usize,
    lirs: usize,
    stack_links: Links,
    /// S: the most recently used page is at the front. Its back, the paper's bottom, is a LIR page.
    stack: List,
    /// For `queue` and `gone`.
    queue_links: Links,
    /// Q: the page to go next is at the back.
    queue: List,
    /// The pages of S that are not resident; the one that went last is at the front.
    gone: List,
    places: Vec<Place>,
}

/// Where a page is.
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
    /// A DRAM of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        let hir_share = (capacity / 100).max(1);
        Self {
            capacity,
            lir_limit: capacity.saturating_sub(hir_share),
            lirs: 0,
            stack_links: Links::default(),
            stack: List::default(),
            queue_links: Links::default(),
            queue: List::default(),
            gone: List::default(),
            places: Vec::new(),
        }
    }

    #[inline]
    fn place(&self, page: PageId) -> Place {
        self.places.get(page.index()).copied().unwrap_or_default()
    }

    /// The LIR page at the bottom of S is touched: another one gets there.
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
        self.cover(page);
        let evicted = self.make_room();
        if self.place(page) == Place::Gone {
            self.gone.remove(&mut self.queue_links, page);
        }
        self.place_touched(page);
        evicted
    }

    /// A page that is in no queue goes to the top of S, as LIR if it was in S or if there are too
    /// few of those, otherwise as HIR.
    fn place_touched(&mut self, page: PageId) {
        let was_in_stack = matches!(self.place(page), Place::StackAndQueue | Place::Gone);
        if was_in_stack {
            self.stack.remove(&mut self.stack_links, page);
        }
        self.stack.push_front(&mut self.stack_links, page);
        if was_in_stack || self.lirs < self.lir_limit {
            self.places[page.index()] = Place::Lir;
            self.lirs += 1;
        } else {
            self.places[page.index()] = Place::StackAndQueue;
            self.queue.push_front(&mut self.queue_links, page);
        }
        if self.lirs > self.lir_limit {
            self.demote_bottom();
        }
        self.prune();
        self.limit_stack();
    }

    /// The LIR page at the bottom of S becomes HIR.
    fn demote_bottom(&mut self) {
        if let Some(bottom) = self.stack.pop_back(&mut self.stack_links) {
            self.lirs -= 1;
            self.places[bottom.index()] = Place::Queue;
            self.queue.push_front(&mut self.queue_links, bottom);
        }
    }

    /// Takes pages from the bottom of S until a LIR page is there.
    fn prune(&mut self) {
        while let Some(bottom) = self.stack.back() {
            match self.place(bottom) {
                Place::Lir => return,
                Place::Gone => self.forget(bottom),
                _ => {
                    self.stack.remove(&mut self.stack_links, bottom);
                    self.places[bottom.index()] = Place::Queue;
                }
            }
        }
    }

    fn limit_stack(&mut self) {
        while self.stack.len() > 2 * self.capacity
            && let Some(oldest) = self.gone.back()
        {
            self.forget(oldest);
        }
    }

    /// Takes a page that is not resident out of S.
    fn forget(&mut self, page: PageId) {
        self.stack.remove(&mut self.stack_links, page);
        self.gone.remove(&mut self.queue_links, page);
        self.places[page.index()] = Place::Nowhere;
    }

    fn make_room(&mut self) -> Option<PageId> {
        if self.resident() < self.capacity {
            return None;
        }
        let evicted = self.queue.pop_back(&mut self.queue_links)?;
        if self.place(evicted) == Place::StackAndQueue {
            self.gone.push_front(&mut self.queue_links, evicted);
            self.places[evicted.index()] = Place::Gone;
        } else {
            self.places[evicted.index()] = Place::Nowhere;
        }
        Some(evicted)
    }

    fn cover(&mut self, page: PageId) {
        self.stack_links.cover(page);
        self.queue_links.cover(page);
        if page.index() >= self.places.len() {
            let pages = (page.index() + 1).next_power_of_two();
            self.places.resize(pages, Place::Nowhere);
        }
    }
}

impl Replacement for Lirs {
    #[inline]
    fn touch(&mut self, touch: Touch) -> Answer {
        let page = touch.page;
        match self.place(page) {
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
        self.cover(page);
        let evicted = self.make_room();
        self.places[page.index()] = if self.place(page) == Place::Gone {
            self.gone.remove(&mut self.queue_links, page);
            Place::StackAndQueue
        } else {
            Place::Queue
        };
        self.queue.push_front(&mut self.queue_links, page);
        evicted
    }

    fn remove(&mut self, page: PageId) {
        match self.place(page) {
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
        self.places[page.index()] = Place::Nowhere;
    }

    fn contains(&self, page: PageId) -> bool {
        !matches!(self.place(page), Place::Nowhere | Place::Gone)
    }

    fn resident(&self) -> usize {
        self.lirs + self.queue.len()
    }
}
