//! An array with a value for every page.

use super::PageId;
use crate::cache::prefetch;

/// Values of pages; a page has the default value until another is set.
#[derive(Debug, Default)]
pub(super) struct Table<T>(Vec<T>);

impl<T: Copy + Default> Table<T> {
    /// Returns the value of `page`.
    #[inline]
    pub(super) fn get(&self, page: PageId) -> T {
        self.0.get(page.index()).copied().unwrap_or_default()
    }

    /// Prefetches the values of these pages into the processor's cache.
    #[inline]
    pub(super) fn expect(&self, pages: &[PageId]) {
        for page in pages {
            prefetch(&self.0, page.index());
        }
    }

    /// Returns the value of `page` to be changed.
    #[inline]
    pub(super) fn at(&mut self, page: PageId) -> &mut T {
        if page.index() >= self.0.len() {
            self.grow(page);
        }
        &mut self.0[page.index()]
    }

    #[inline]
    pub(super) fn set(&mut self, page: PageId, value: T) {
        *self.at(page) = value;
    }

    /// Sets the value of `page` to the default.
    #[inline]
    pub(super) fn clear(&mut self, page: PageId) {
        if let Some(value) = self.0.get_mut(page.index()) {
            *value = T::default();
        }
    }

    #[cold]
    fn grow(&mut self, page: PageId) {
        let pages = (page.index() + 1).next_power_of_two();
        self.0.resize(pages, T::default());
    }
}
