//! 2Q, the full version.

use terrace_policy::params::Params;
use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

use super::{number, take};

pub struct TwoQ {
    slots: usize,
    kin: usize,
    kout: usize,
    /// Each of the three has the page that goes next first.
    a1in: Vec<PageId>,
    a1out: Vec<PageId>,
    am: Vec<PageId>,
    /// Prefetched pages of A1in, not touched since.
    unused: Vec<PageId>,
}

impl TwoQ {
    pub fn new(slots: usize, params: &mut Params) -> Self {
        let mut share = |key, default| (number(params, key, default) * slots as f64) as usize;
        Self {
            slots,
            kin: share("kin", 0.25),
            kout: share("kout", 0.5),
            a1in: Vec::new(),
            a1out: Vec::new(),
            am: Vec::new(),
            unused: Vec::new(),
        }
    }

    fn reclaim(&mut self) -> Option<PageId> {
        match self.resident() < self.slots {
            true => None,
            false => self.evict(),
        }
    }
}

impl Replacement for TwoQ {
    fn evict(&mut self) -> Option<PageId> {
        if self.resident() == 0 {
            return None;
        }
        if self.a1in.len() > self.kin || self.am.is_empty() {
            let evicted = self.a1in.remove(0);
            if !take(&mut self.unused, evicted) {
                self.a1out.push(evicted);
            }
            if self.a1out.len() > self.kout {
                self.a1out.remove(0);
            }
            Some(evicted)
        } else {
            Some(self.am.remove(0))
        }
    }

    fn touch(&mut self, touch: Touch) -> Answer {
        let page = touch.page;
        take(&mut self.unused, page);
        if take(&mut self.am, page) {
            self.am.push(page);
            return Answer::Hit;
        }
        if self.a1in.contains(&page) {
            return Answer::Hit;
        }
        let remembered = take(&mut self.a1out, page);
        let evicted = self.reclaim();
        if remembered {
            self.am.push(page);
        } else {
            self.a1in.push(page);
        }
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        take(&mut self.a1out, page);
        let evicted = self.reclaim();
        self.a1in.push(page);
        self.unused.push(page);
        evicted
    }

    fn remove(&mut self, page: PageId) {
        for list in [
            &mut self.a1in,
            &mut self.a1out,
            &mut self.am,
            &mut self.unused,
        ] {
            take(list, page);
        }
    }

    fn contains(&self, page: PageId) -> bool {
        self.a1in.contains(&page) || self.am.contains(&page)
    }

    fn resident(&self) -> usize {
        self.a1in.len() + self.am.len()
    }
}
