//! Policies whose resident pages form one queue, with a reference bit for each page.

use super::lists::{Lists, State};
use super::{Answer, PageId, Replacement, Touch};

/// Use of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Use {
    #[default]
    Absent,
    /// Prefetched and not touched since.
    Fetched,
    /// Touched, with the reference bit clear.
    Clear,
    /// Touched, with the reference bit set.
    Referenced,
}

impl State for Use {
    const RESIDENT: usize = 1;

    #[inline]
    fn list(self) -> usize {
        usize::from(self != Self::Absent)
    }
}

/// The resident pages, in one list.
pub type Pages = Lists<Use, 2>;

impl Pages {
    /// Returns the page at the back.
    #[inline]
    pub(super) fn oldest(&self) -> Option<PageId> {
        self.back(Use::Clear)
    }
}

/// Order in which a policy with one queue evicts. A rule with nothing but defaults is first in,
/// first out.
pub trait Rule: Send {
    /// Whether a touch changes the links of its page.
    const LINKS: bool = false;
    /// Whether the oldest page is evicted next if no page is touched before.
    const OLDEST_IS_NEXT: bool = true;

    /// Handles a touch of a resident page. The first touch of a prefetched page leaves its
    /// reference bit clear, like the touch that brings a page in.
    #[inline]
    fn hit(&mut self, pages: &mut Pages, page: PageId) {
        let used = pages.at(page);
        *used = match *used {
            Use::Fetched => Use::Clear,
            _ => Use::Referenced,
        };
    }

    /// Evicts a page.
    #[inline]
    fn evict(&mut self, pages: &mut Pages) -> Option<PageId> {
        pages.pop_back(Use::Clear).map(|(page, _)| page)
    }

    /// Removes a resident page.
    fn remove(&mut self, pages: &mut Pages, page: PageId) {
        pages.remove(page);
    }
}

/// A policy whose resident pages form one queue.
pub struct Queue<R> {
    capacity: usize,
    pages: Pages,
    rule: R,
}

impl<R: Rule + Default> Queue<R> {
    /// Makes an empty DRAM of `capacity` pages.
    pub fn new(capacity: usize) -> Self {
        Self::with(capacity, R::default())
    }
}

impl<R: Rule> Queue<R> {
    pub(super) fn with(capacity: usize, rule: R) -> Self {
        let pages = Pages::default();
        Self {
            capacity,
            pages,
            rule,
        }
    }

    #[inline]
    fn admit(&mut self, page: PageId, used: Use) -> Option<PageId> {
        let full = self.resident() >= self.capacity;
        let evicted = full.then(|| self.rule.evict(&mut self.pages)).flatten();
        self.pages.push(page, used);
        evicted
    }
}

impl<R: Rule> Replacement for Queue<R> {
    #[inline]
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            self.rule.hit(&mut self.pages, touch.page);
            return Answer::Hit;
        }
        let evicted = self.admit(touch.page, Use::Clear);
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        self.admit(page, Use::Fetched)
    }

    fn evict(&mut self) -> Option<PageId> {
        self.rule.evict(&mut self.pages)
    }

    fn evicts(&self) -> bool {
        true
    }

    fn remove(&mut self, page: PageId) {
        if self.contains(page) {
            self.rule.remove(&mut self.pages, page);
        }
    }

    #[inline]
    fn expect(&self, pages: &[PageId]) {
        self.pages.expect(pages);
        if R::LINKS {
            self.pages.expect_links(pages);
        }
    }

    #[inline]
    fn expect_misses(&self, pages: &[PageId]) -> u64 {
        let mut absent = 0;
        for (at, page) in (0..u64::BITS).zip(pages) {
            if !self.contains(*page) {
                absent |= 1 << at;
                if !R::LINKS {
                    self.pages.expect_links(&[*page]);
                }
            }
        }
        absent
    }

    fn next_victim(&self) -> Option<PageId> {
        self.pages.oldest().filter(|_| R::OLDEST_IS_NEXT)
    }

    #[inline]
    fn contains(&self, page: PageId) -> bool {
        self.pages.is_resident(page)
    }

    #[inline]
    fn resident(&self) -> usize {
        self.pages.resident()
    }
}
