//! Doubly linked lists of pages in arrays. A page is in at most one list of a [`Links`].

use super::PageId;
use crate::cache::prefetch;

/// No page.
const NONE: u32 = u32::MAX;

/// The links of all pages, shared by the lists of one policy.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Neighbours before and after each page, [`NONE`] at the ends.
    pages: Vec<(u32, u32)>,
}

/// A list; pages come in at its front by convention.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    front: u32,
    back: u32,
    len: usize,
}

impl Default for List {
    fn default() -> Self {
        Self {
            front: NONE,
            back: NONE,
            len: 0,
        }
    }
}

impl Links {
    /// Prefetches the links of these pages into the processor's cache.
    pub(super) fn expect(&self, pages: &[PageId]) {
        for page in pages {
            prefetch(&self.pages, page.index());
        }
    }

    /// Makes room for `page`.
    pub(super) fn cover(&mut self, page: PageId) {
        if page.index() >= self.pages.len() {
            let pages = (page.index() + 1).next_power_of_two();
            self.pages.resize(pages, (NONE, NONE));
        }
    }
}

impl List {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn back(&self) -> Option<PageId> {
        (self.back != NONE).then_some(PageId(self.back))
    }

    /// Returns the page before `page`, towards the front.
    pub(super) fn before(&self, links: &Links, page: PageId) -> Option<PageId> {
        let (before, _) = links.pages[page.index()];
        (before != NONE).then_some(PageId(before))
    }

    #[inline]
    pub(super) fn push_front(&mut self, links: &mut Links, page: PageId) {
        links.cover(page);
        links.pages[page.index()] = (NONE, self.front);
        match self.front {
            NONE => self.back = page.0,
            front => links.pages[front as usize].0 = page.0,
        }
        self.front = page.0;
        self.len += 1;
    }

    /// Removes a page that is in this list.
    #[inline]
    pub(super) fn remove(&mut self, links: &mut Links, page: PageId) {
        let (before, after) = links.pages[page.index()];
        match before {
            NONE => self.front = after,
            before => links.pages[before as usize].1 = after,
        }
        match after {
            NONE => self.back = before,
            after => links.pages[after as usize].0 = before,
        }
        self.len -= 1;
    }

    pub(super) fn pop_back(&mut self, links: &mut Links) -> Option<PageId> {
        let page = self.back()?;
        self.remove(links, page);
        // This page is most likely removed next.
        if let Some(next) = self.back() {
            links.expect(&[next]);
        }
        Some(page)
    }

    #[inline]
    pub(super) fn move_to_front(&mut self, links: &mut Links, page: PageId) {
        if self.front != page.0 {
            self.remove(links, page);
            self.push_front(links, page);
        }
    }
}
