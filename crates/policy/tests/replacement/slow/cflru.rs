//! CFLRU: an LRU list with dirty bits, whose end is searched for a clean page.

use terrace_policy::params::Params;
use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

use super::number;

pub struct Cflru {
    capacity: usize,
    window: usize,
    /// Each page with its dirty bit, least recently used first.
    pages: Vec<(PageId, bool)>,
}

impl Cflru {
    pub fn new(capacity: usize, params: &mut Params) -> Self {
        let window = number(params, "window", 0.5) * capacity as f64;
        Self {
            capacity,
            window: window.ceil() as usize,
            pages: Vec::new(),
        }
    }

    fn place(&self, page: PageId) -> Option<usize> {
        self.pages.iter().position(|(other, _)| *other == page)
    }

    fn evict(&mut self) -> PageId {
        let window = &self.pages[..self.window];
        let clean = window.iter().position(|(_, dirty)| !dirty);
        self.pages.remove(clean.unwrap_or(0)).0
    }

    fn insert(&mut self, page: PageId, dirty: bool) -> Option<PageId> {
        let full = self.pages.len() == self.capacity;
        let evicted = full.then(|| self.evict());
        self.pages.push((page, dirty));
        evicted
    }
}

impl Replacement for Cflru {
    fn touch(&mut self, touch: Touch) -> Answer {
        if let Some(place) = self.place(touch.page) {
            let (page, dirty) = self.pages.remove(place);
            self.pages.push((page, dirty || touch.write));
            return Answer::Hit;
        }
        let evicted = self.insert(touch.page, touch.write);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.insert(page, false)
    }

    fn cleaned(&mut self, page: PageId) {
        if let Some(place) = self.place(page) {
            self.pages[place].1 = false;
        }
    }

    fn remove(&mut self, page: PageId) {
        self.pages.retain(|(other, _)| *other != page);
    }

    fn contains(&self, page: PageId) -> bool {
        self.place(page).is_some()
    }

    fn resident(&self) -> usize {
        self.pages.len()
    }
}
