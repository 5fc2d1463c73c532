//! CFLRU: an LRU list with dirty bits, whose end is searched for a clean page.

use terrace_policy::params::Params;
use terrace_policy::replacement::{PageId, Touch};

use super::number;
use super::simple::Simple;

pub struct Cflru {
    /// Most pages of the working region.
    most: usize,
    /// Each page with its dirty bit, least recently used first.
    pages: Vec<(PageId, bool)>,
    /// Pages of the working region, the last ones.
    working: usize,
}

impl Cflru {
    pub fn new(capacity: usize, params: &mut Params) -> Self {
        let window = number(params, "window", 0.5) * capacity as f64;
        Self {
            most: capacity - window.ceil() as usize,
            pages: Vec::new(),
            working: 0,
        }
    }

    /// Takes a page out of its region.
    fn take(&mut self, place: usize) -> (PageId, bool) {
        if place >= self.pages.len() - self.working {
            self.working -= 1;
        }
        self.pages.remove(place)
    }

    /// Puts a page into the working region, from which the first one may fall.
    fn put(&mut self, page: PageId, dirty: bool) {
        self.pages.push((page, dirty));
        self.working = (self.working + 1).min(self.most);
    }

    fn place(&self, page: PageId) -> Option<usize> {
        self.pages.iter().position(|(other, _)| *other == page)
    }
}

impl Simple for Cflru {
    fn pages(&self) -> Vec<PageId> {
        self.pages.iter().map(|(page, _)| *page).collect()
    }

    fn hit(&mut self, touch: Touch) {
        let place = self.place(touch.page).expect("the page is resident");
        let (page, dirty) = self.take(place);
        self.put(page, dirty || touch.write);
    }

    fn evict(&mut self) -> PageId {
        let window = &self.pages[..self.pages.len() - self.working];
        let clean = window.iter().position(|(_, dirty)| !dirty);
        self.take(clean.unwrap_or(0)).0
    }

    fn insert(&mut self, page: PageId, touch: Option<Touch>) {
        let dirty = touch.is_some_and(|touch| touch.write);
        self.put(page, dirty);
    }

    fn cleaned(&mut self, page: PageId) {
        if let Some(place) = self.place(page) {
            self.pages[place].1 = false;
        }
    }

    fn remove(&mut self, page: PageId) {
        if let Some(place) = self.place(page) {
            self.take(place);
        }
    }
}
