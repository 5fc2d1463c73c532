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
    /// PG_dirty.
    dirty: bool,
}

#[derive(Default)]
pub struct Linux {
    /// Next to be looked at first.
    inactive: Vec<Folio>,
    active: Vec<Folio>,
    /// Under writeback, in the order in which that began.
    writeback: Vec<Folio>,
    /// What the driver was not told of.
    untold: Vec<PageId>,
    /// Freed, and not yet gone.
    freed: Vec<Folio>,
    nonresident_age: usize,
    /// Refaults that were activated, now and at the end of the last reclaim.
    activations: [usize; 2],
    shadows: HashMap<PageId, usize>,
}

impl Linux {
    /// Less than a GiB: as many folios should be inactive as are active.
    fn inactive_is_low(&self) -> bool {
        self.inactive.len() < self.active.len()
    }

    fn shrink_active_list(&mut self, folios: usize) {
        for _ in 0..folios.min(self.active.len()) {
            let mut folio = self.active.remove(0);
            folio.young = false;
            self.inactive.push(folio);
        }
    }

    fn shrink_inactive_list(&mut self, folios: usize) {
        let isolated: Vec<_> = self.inactive.drain(..folios).collect();
        for mut folio in isolated {
            let (young, referenced) = (folio.young, folio.referenced);
            folio.young = false;
            folio.referenced = true;
            if !young && folio.dirty {
                folio.referenced = false;
                folio.dirty = false;
                self.untold.push(folio.page);
                self.writeback.push(folio);
                continue;
            }
            if !young {
                self.shadows.insert(folio.page, self.nonresident_age);
                self.freed.push(folio);
            } else if referenced {
                self.active.push(folio);
            } else {
                self.inactive.push(folio);
            }
            self.nonresident_age += usize::from(!young || referenced);
        }
        self.end_writeback(32);
    }

    /// Ends writeback of all but the last `under_way` folios. The one written last is moved to the
    /// end of the queue last.
    fn end_writeback(&mut self, under_way: usize) {
        let ended = self.writeback.len().saturating_sub(under_way);
        for folio in self.writeback.drain(..ended) {
            self.inactive.insert(0, folio);
        }
    }

    fn shrink_node(&mut self) {
        let [now, snapshot] = self.activations;
        self.activations = [now; 2];
        let low = self.inactive_is_low();
        let may_deactivate = low || now != snapshot;
        for priority in (0..=12).rev() {
            let freed_before = self.freed.len();
            // Swappiness is 60, and only anonymous folios have cost anything.
            let fraction = |folios: usize| match priority {
                0 => folios,
                _ => folios / (1 << priority) * 90 / (90 + 420),
            };
            let mut scan = [fraction(self.inactive.len()), fraction(self.active.len())];
            while scan[0] > 0 {
                let [inactive, active] = scan.map(|left| left.min(32));
                self.shrink_inactive_list(inactive);
                if may_deactivate {
                    self.shrink_active_list(active);
                }
                let nr_reclaimed = self.freed.len() - freed_before;
                if nr_reclaimed >= 32 {
                    break;
                }
                scan = [scan[0] - inactive, scan[1] - active];
            }
            if low {
                self.shrink_active_list(32);
            }
            if self.freed.len() >= 32 {
                break;
            }
        }
    }
}

impl Simple for Linux {
    fn pages(&self) -> Vec<PageId> {
        let queues = [&self.inactive, &self.active, &self.freed];
        let folios = queues.into_iter().flatten();
        folios.map(|folio| folio.page).collect()
    }

    fn hit(&mut self, touch: Touch) {
        for folio in self.inactive.iter_mut().chain(&mut self.active) {
            if folio.page == touch.page {
                folio.young = true;
                folio.dirty |= touch.write;
            }
        }
    }

    fn evict(&mut self) -> PageId {
        if self.freed.is_empty() {
            self.untold.clear();
        }
        while self.freed.is_empty() {
            self.shrink_node();
            self.end_writeback(0);
        }
        self.freed.remove(0).page
    }

    fn insert(&mut self, page: PageId, touch: Option<Touch>) {
        let folio = Folio {
            page,
            young: touch.is_some(),
            referenced: false,
            dirty: touch.is_some_and(|touch| touch.write),
        };
        let shadow = self.shadows.remove(&page);
        let distance = shadow.map(|shadow| self.nonresident_age - shadow);
        if distance.is_some_and(|distance| distance <= self.active.len()) {
            self.nonresident_age += 1;
            self.activations[0] += 1;
            self.active.push(folio);
        } else {
            self.inactive.push(folio);
        }
    }

    fn cleaned(&mut self, page: PageId) {
        let queues = [&mut self.inactive, &mut self.active, &mut self.freed];
        for folio in queues.into_iter().flatten() {
            folio.dirty &= folio.page != page;
        }
    }

    fn writes(&mut self) -> Vec<PageId> {
        std::mem::take(&mut self.untold)
    }

    fn remove(&mut self, page: PageId) {
        self.inactive.retain(|folio| folio.page != page);
        self.active.retain(|folio| folio.page != page);
        self.freed.retain(|folio| folio.page != page);
        self.shadows.remove(&page);
    }
}
