//! A value for every page, in an array.

use super::PageId;
use crate::cache::prefetch;

/// What a policy knows of each page: the default value until another is set.
#[derive(Debug, Default)]
pub(super) struct Table<T>(Vec<T>);

impl<T: Copy + Default> Table<T> {
    /// The value of `page`.
    pub(super) fn get(&self, page: PageId) -> T {
        self.0.get(page.index()).copied().unwrap_or_default()
    }

    /// Has the values of these pages fetched into the processor's cache.
    pub(super) fn expect(&self, pages: &[PageId]) {
        for page in pages {
            prefetch(&self.0, page.index());
        }
    }

    /// The value of `page`, to be changed.
    pub(super) fn at(&mut self, page: PageId) -> &mut T {
        if page.index() >= self.0.len() {
            self.grow(page);
        }
        &mut self.0[page.index()]
    }

    pub(super) fn set(&mut self, page: PageId, value: T) {
        *self.at(page) = value;
    }

    #[cold]
    fn grow(&mut self, page: PageId) {
        let pages = (page.index() + 1).next_power_of_two();
        self.0.resize(pages, T::default());
    }
}
