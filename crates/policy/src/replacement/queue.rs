//! Policies whose resident pages form one queue, with a reference bit for each page.

use super::list::{Links, List};
use super::table::Table;
use super::{Answer, PageId, Replacement, Touch};

/// Use of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Use {
    #[default]
    Absent,
    /// Prefetched and not touched since.
    Fetched,
    /// Touched, with the reference bit clear.
    Clear,
    /// Touched, with the reference bit set.
    Referenced,
}

/// The resident pages of a policy.
pub(super) struct Queue {
    capacity: usize,
    pub(super) links: Links,
    /// Pages come in at the front.
    pub(super) pages: List,
    pub(super) uses: Table<Use>,
}

impl Queue {
    /// Makes an empty queue of at most `capacity` pages.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            links: Links::default(),
            pages: List::default(),
            uses: Table::default(),
        }
    }

    /// Removes a resident page.
    pub(super) fn remove(&mut self, page: PageId) {
        self.pages.remove(&mut self.links, page);
        self.uses.set(page, Use::Absent);
    }

    /// Moves a resident page to the front.
    pub(super) fn move_to_front(&mut self, page: PageId) {
        self.pages.move_to_front(&mut self.links, page);
    }
}

/// A policy whose resident pages form one queue. What it does not define is first in, first out.
pub(super) trait Queued: Send {
    /// Whether a touch changes the links of its page.
    const LINKS: bool = false;

    fn queue(&self) -> &Queue;

    fn queue_mut(&mut self) -> &mut Queue;

    /// Handles a touch of a resident page. The first touch of a prefetched page leaves its
    /// reference bit clear, like the touch that brings a page in.
    #[inline]
    fn hit(&mut self, page: PageId) {
        let used = self.queue_mut().uses.at(page);
        *used = match *used {
            Use::Fetched => Use::Clear,
            _ => Use::Referenced,
        };
    }

    /// Evicts a page.
    fn evict(&mut self) -> Option<PageId> {
        let queue = self.queue_mut();
        let victim = queue.pages.pop_back(&mut queue.links)?;
        queue.uses.set(victim, Use::Absent);
        Some(victim)
    }

    /// Removes a resident page.
    fn leave(&mut self, page: PageId) {
        self.queue_mut().remove(page);
    }

    /// Returns the next page to be evicted, if that is known cheaply.
    fn next(&self) -> Option<PageId> {
        None
    }
}

fn admit(policy: &mut impl Queued, page: PageId, used: Use) -> Option<PageId> {
    let full = policy.queue().pages.len() >= policy.queue().capacity;
    let evicted = full.then(|| policy.evict()).flatten();
    let queue = policy.queue_mut();
    queue.pages.push_front(&mut queue.links, page);
    queue.uses.set(page, used);
    evicted
}

impl<P: Queued> Replacement for P {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            self.hit(touch.page);
            return Answer::Hit;
        }
        let evicted = admit(self, touch.page, Use::Clear);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        admit(self, page, Use::Fetched)
    }

    fn remove(&mut self, page: PageId) {
        if self.contains(page) {
            self.leave(page);
        }
    }

    fn expect(&self, pages: &[PageId]) {
        self.queue().uses.expect(pages);
        if Self::LINKS {
            self.queue().links.expect(pages);
        }
    }

    fn next_victim(&self) -> Option<PageId> {
        self.next()
    }

    fn contains(&self, page: PageId) -> bool {
        self.queue().uses.get(page) != Use::Absent
    }

    fn resident(&self) -> usize {
        self.queue().pages.len()
    }
}
