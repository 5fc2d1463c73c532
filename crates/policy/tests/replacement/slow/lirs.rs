//! LIRS, by the three cases of section 3.3 of its paper.

use terrace_policy::params::Params;
use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

use super::{number, take};

pub struct Lirs {
    capacity: usize,
    lirs: usize,
    most_s: usize,
    /// Bottom first.
    s: Vec<PageId>,
    /// Front first.
    q: Vec<PageId>,
    lir: Vec<PageId>,
    /// The pages that are in S but not resident; the one that went first is first.
    gone: Vec<PageId>,
}

impl Lirs {
    pub fn new(capacity: usize, params: &mut Params) -> Self {
        let hirs = number(params, "hirs", 0.01) * capacity as f64;
        let most_s = number(params, "stack", 2.0) * capacity as f64;
        Self {
            capacity,
            lirs: capacity - (hirs as usize).max(1),
            most_s: most_s as usize,
            s: Vec::new(),
            q: Vec::new(),
            lir: Vec::new(),
            gone: Vec::new(),
        }
    }

    /// A page that is neither LIR nor in Q was touched.
    fn put_on_top(&mut self, page: PageId) {
        let was_in_s = take(&mut self.s, page);
        self.s.push(page);
        if was_in_s || self.lir.len() < self.lirs {
            self.lir.push(page);
        } else {
            self.q.push(page);
        }
        if self.lir.len() > self.lirs {
            let bottom = self.s[0];
            assert!(take(&mut self.lir, bottom), "the bottom of S is LIR");
            self.q.push(bottom);
        }
        self.prune();
        while self.s.len() > self.most_s {
            let first = self.gone.remove(0);
            take(&mut self.s, first);
        }
    }

    fn prune(&mut self) {
        while self.s.first().is_some_and(|page| !self.lir.contains(page)) {
            let bottom = self.s.remove(0);
            take(&mut self.gone, bottom);
        }
    }

    fn make_room(&mut self) -> Option<PageId> {
        if self.resident() < self.capacity {
            return None;
        }
        self.evict()
    }
}

impl Replacement for Lirs {
    fn touch(&mut self, touch: Touch) -> Answer {
        let page = touch.page;
        if self.lir.contains(&page) {
            take(&mut self.s, page);
            self.s.push(page);
            self.prune();
            return Answer::Hit;
        }
        if take(&mut self.q, page) {
            self.put_on_top(page);
            return Answer::Hit;
        }
        let evicted = self.make_room();
        take(&mut self.gone, page);
        self.put_on_top(page);
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        let evicted = self.make_room();
        take(&mut self.gone, page);
        self.q.push(page);
        evicted
    }

    fn evict(&mut self) -> Option<PageId> {
        if self.q.is_empty() {
            let bottom = *self.s.first()?;
            take(&mut self.s, bottom);
            take(&mut self.lir, bottom);
            self.q.push(bottom);
            self.prune();
        }
        let evicted = self.q.remove(0);
        if self.s.contains(&evicted) {
            self.gone.push(evicted);
        }
        Some(evicted)
    }

    fn remove(&mut self, page: PageId) {
        for list in [&mut self.s, &mut self.q, &mut self.lir, &mut self.gone] {
            take(list, page);
        }
        self.prune();
    }

    fn contains(&self, page: PageId) -> bool {
        self.lir.contains(&page) || self.q.contains(&page)
    }

    fn resident(&self) -> usize {
        self.lir.len() + self.q.len()
    }
}
