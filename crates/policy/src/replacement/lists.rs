//! Lists of pages, and for each page a state that tells which list it is in.

use super::PageId;
use super::table::Table;
use crate::list::{Links, List};

/// State of a page; by default the page is in no list.
pub trait State: Copy + Default {
    /// Number of lists whose pages are resident.
    const RESIDENT: usize;

    /// Number of the page's list: 0 for none, then the lists of resident pages, then the others.
    fn list(self) -> usize;
}

/// Lists; a page is in at most one. The first of the `N` stands for none and is empty.
///
/// A list is named by any state of its pages.
pub struct Lists<S, const N: usize> {
    links: Links,
    lists: [List; N],
    states: Table<S>,
}

impl<S: State, const N: usize> Default for Lists<S, N> {
    fn default() -> Self {
        Self {
            links: Links::default(),
            lists: [List::default(); N],
            states: Table::default(),
        }
    }
}

impl<S: State, const N: usize> Lists<S, N> {
    #[inline]
    pub(super) fn get(&self, page: PageId) -> S {
        self.states.get(page)
    }

    /// Returns the state of a page, to be changed into another one of the same list.
    #[inline]
    pub(super) fn at(&mut self, page: PageId) -> &mut S {
        self.states.at(page)
    }

    /// Number of pages in a list.
    #[inline]
    pub(super) fn len(&self, list: impl Into<S>) -> usize {
        self.lists[list.into().list()].len()
    }

    /// Returns the page at the back of a list.
    #[inline]
    pub(super) fn back(&self, list: impl Into<S>) -> Option<PageId> {
        self.lists[list.into().list()].back().map(PageId)
    }

    /// Returns the neighbour of a page towards the front of its list.
    #[inline]
    pub(super) fn before(&self, page: PageId) -> Option<PageId> {
        self.links.before(page.0).map(PageId)
    }

    /// Sets the state of a page that is in no list, and puts the page at the front of the list of
    /// that state, if there is one.
    #[inline]
    pub(super) fn push(&mut self, page: PageId, state: impl Into<S>) {
        let state = state.into();
        self.states.set(page, state);
        if state.list() != 0 {
            self.lists[state.list()].push_front(&mut self.links, page.0);
        }
    }

    /// Same as [`Lists::push`], at the back of a list.
    pub(super) fn push_back(&mut self, page: PageId, state: impl Into<S>) {
        let state = state.into();
        self.states.set(page, state);
        self.lists[state.list()].push_back(&mut self.links, page.0);
    }

    /// Same as [`Lists::push`] of a page that may be in a list, which it leaves.
    #[inline]
    pub(super) fn put(&mut self, page: PageId, state: impl Into<S>) {
        self.remove(page);
        self.push(page, state);
    }

    /// Takes a page out of its list. No effect on a page in none.
    #[inline]
    pub(super) fn remove(&mut self, page: PageId) {
        let list = self.get(page).list();
        if list != 0 {
            self.lists[list].remove(&mut self.links, page.0);
            self.states.clear(page);
        }
    }

    /// Moves a page that is in a list to its front.
    #[inline]
    pub(super) fn move_to_front(&mut self, page: PageId) {
        self.lists[self.states.get(page).list()].move_to_front(&mut self.links, page.0);
    }

    /// Takes the page at the back of a list out of it, and returns the page and its state before.
    #[inline(always)]
    pub(super) fn pop_back(&mut self, list: impl Into<S>) -> Option<(PageId, S)> {
        let list = &mut self.lists[list.into().list()];
        let page = list.back()?;
        list.remove(&mut self.links, page);
        // This page is most likely removed next.
        if let Some(next) = list.back() {
            self.links.expect(next);
        }
        let state = std::mem::take(self.states.at(PageId(page)));
        Some((PageId(page), state))
    }

    /// Prefetches the states of these pages into the processor's cache.
    #[inline]
    pub(super) fn expect(&self, pages: &[PageId]) {
        self.states.expect(pages);
    }

    /// Prefetches the links of these pages into the processor's cache.
    #[inline]
    pub(super) fn expect_links(&self, pages: &[PageId]) {
        pages.iter().for_each(|page| self.links.expect(page.0));
    }

    #[inline]
    pub(super) fn is_resident(&self, page: PageId) -> bool {
        (1..=S::RESIDENT).contains(&self.get(page).list())
    }

    /// Number of resident pages.
    #[inline]
    pub(super) fn resident(&self) -> usize {
        self.lists[1..=S::RESIDENT].iter().map(List::len).sum()
    }
}
