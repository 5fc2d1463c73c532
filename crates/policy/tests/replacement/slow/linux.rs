//! Linux's active and inactive queues, after `mm/vmscan.c` and `mm/workingset.c`.

use std::collections::HashMap;

use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

#[derive(Clone, Copy)]
struct Folio {
    page: PageId,
    /// The accessed bit in the page table.
    young: bool,
    /// PG_referenced.
    referenced: bool,
}

pub struct Linux {
    capacity: usize,
    /// Next to be looked at first.
    inactive: Vec<Folio>,
    active: Vec<Folio>,
    nonresident_age: usize,
    shadows: HashMap<PageId, usize>,
}

impl Linux {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            inactive: Vec::new(),
            active: Vec::new(),
            nonresident_age: 0,
            shadows: HashMap::new(),
        }
    }

    fn swap_in(&mut self, page: PageId, young: bool) -> Option<PageId> {
        let full = self.resident() == self.capacity;
        let evicted = full.then(|| self.reclaim());
        let folio = Folio {
            page,
            young,
            referenced: false,
        };
        let shadow = self.shadows.remove(&page);
        let distance = shadow.map(|shadow| self.nonresident_age - shadow);
        if distance.is_some_and(|distance| distance <= self.active.len()) {
            self.nonresident_age += 1;
            self.active.push(folio);
        } else {
            self.inactive.push(folio);
        }
        evicted
    }

    fn reclaim(&mut self) -> PageId {
        loop {
            // Less than a GiB: as many pages should be inactive as are active.
            while self.inactive.len() < self.active.len() {
                let mut folio = self.active.remove(0);
                folio.young = false;
                self.inactive.push(folio);
            }
            let mut folio = self.inactive.remove(0);
            match (folio.young, folio.referenced) {
                (false, _) => {
                    self.shadows.insert(folio.page, self.nonresident_age);
                    self.nonresident_age += 1;
                    return folio.page;
                }
                (true, false) => {
                    folio.young = false;
                    folio.referenced = true;
                    self.inactive.push(folio);
                }
                (true, true) => {
                    folio.young = false;
                    self.nonresident_age += 1;
                    self.active.push(folio);
                }
            }
        }
    }
}

impl Replacement for Linux {
    fn touch(&mut self, touch: Touch) -> Answer {
        for folio in self.inactive.iter_mut().chain(&mut self.active) {
            if folio.page == touch.page {
                folio.young = true;
                return Answer::Hit;
            }
        }
        let evicted = self.swap_in(touch.page, true);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.swap_in(page, false)
    }

    fn remove(&mut self, page: PageId) {
        self.inactive.retain(|folio| folio.page != page);
        self.active.retain(|folio| folio.page != page);
        self.shadows.remove(&page);
    }

    fn contains(&self, page: PageId) -> bool {
        let mut folios = self.inactive.iter().chain(&self.active);
        folios.any(|folio| folio.page == page)
    }

    fn resident(&self) -> usize {
        self.inactive.len() + self.active.len()
    }
}
