//! Linux's active and inactive queues, after `mm/vmscan.c` and `mm/workingset.c`.

use std::collections::HashMap;

use terrace_policy::replacement::{PageId, Touch};

use super::simple::Simple;

#[derive(Clone, Copy)]
struct Folio {
    page: PageId,
    /// The accessed bit in the page table.
    young: bool,
    /// PG_referenced.
    referenced: bool,
}

#[derive(Default)]
pub struct Linux {
    /// Next to be looked at first.
    inactive: Vec<Folio>,
    active: Vec<Folio>,
    nonresident_age: usize,
    shadows: HashMap<PageId, usize>,
}

impl Simple for Linux {
    fn pages(&self) -> Vec<PageId> {
        let folios = self.inactive.iter().chain(&self.active);
        folios.map(|folio| folio.page).collect()
    }

    fn hit(&mut self, touch: Touch) {
        for folio in self.inactive.iter_mut().chain(&mut self.active) {
            folio.young |= folio.page == touch.page;
        }
    }

    fn evict(&mut self) -> PageId {
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

    fn insert(&mut self, page: PageId, touch: Option<Touch>) {
        let folio = Folio {
            page,
            young: touch.is_some(),
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
    }

    fn remove(&mut self, page: PageId) {
        self.inactive.retain(|folio| folio.page != page);
        self.active.retain(|folio| folio.page != page);
        self.shadows.remove(&page);
    }
}
