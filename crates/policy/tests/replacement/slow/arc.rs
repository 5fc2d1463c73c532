//! ARC, case by case as in figure 4 of its paper. What the paper has no words for: there may be
//! room although pages are remembered, since pages can be removed; and pages may be unused.

use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

use super::take;

pub struct Arc {
    c: usize,
    p: f64,
    /// Each of the four has its LRU page first.
    t1: Vec<PageId>,
    t2: Vec<PageId>,
    b1: Vec<PageId>,
    b2: Vec<PageId>,
    /// Prefetched pages of T1, not touched since.
    unused: Vec<PageId>,
}

impl Arc {
    pub fn new(c: usize) -> Self {
        Self {
            c,
            p: 0.0,
            t1: Vec::new(),
            t2: Vec::new(),
            b1: Vec::new(),
            b2: Vec::new(),
            unused: Vec::new(),
        }
    }

    fn replace(&mut self, x: PageId) -> Option<PageId> {
        if self.resident() < self.c {
            return None;
        }
        self.shrink(x)
    }

    fn shrink(&mut self, x: PageId) -> Option<PageId> {
        if self.resident() == 0 {
            return None;
        }
        let t1 = self.t1.len() as f64;
        if self.t2.is_empty()
            || t1 >= 1.0 && ((self.b2.contains(&x) && t1 == self.p) || t1 > self.p)
        {
            let lru = self.t1.remove(0);
            if !take(&mut self.unused, lru) {
                self.b1.push(lru);
            }
            Some(lru)
        } else {
            let lru = self.t2.remove(0);
            self.b2.push(lru);
            Some(lru)
        }
    }

    fn case_4(&mut self, x: PageId) -> Option<PageId> {
        let (t1, l1) = (self.t1.len(), self.t1.len() + self.b1.len());
        let l2 = self.t2.len() + self.b2.len();
        let evicted = if l1 == self.c {
            if t1 < self.c {
                self.b1.remove(0);
                self.replace(x)
            } else {
                let lru = self.t1.remove(0);
                take(&mut self.unused, lru);
                Some(lru)
            }
        } else {
            if l1 + l2 == 2 * self.c {
                self.b2.remove(0);
            }
            self.replace(x)
        };
        self.t1.push(x);
        evicted
    }
}

impl Replacement for Arc {
    fn touch(&mut self, touch: Touch) -> Answer {
        let (x, c) = (touch.page, self.c as f64);
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        if take(&mut self.unused, x) {
            take(&mut self.t1, x);
            self.t1.push(x);
            return Answer::Hit;
        }
        if take(&mut self.t1, x) || take(&mut self.t2, x) {
            self.t2.push(x);
            return Answer::Hit;
        }
        let evicted = if self.b1.contains(&x) {
            let delta = if b1 >= b2 { 1.0 } else { b2 / b1 };
            self.p = c.min(self.p + delta);
            let evicted = self.replace(x);
            take(&mut self.b1, x);
            self.t2.push(x);
            evicted
        } else if self.b2.contains(&x) {
            let delta = if b2 >= b1 { 1.0 } else { b1 / b2 };
            self.p = 0f64.max(self.p - delta);
            let evicted = self.replace(x);
            take(&mut self.b2, x);
            self.t2.push(x);
            evicted
        } else {
            self.case_4(x)
        };
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        self.remove(page);
        let evicted = self.case_4(page);
        self.unused.push(page);
        evicted
    }

    fn evict(&mut self) -> Option<PageId> {
        self.shrink(PageId(u32::MAX))
    }

    fn remove(&mut self, page: PageId) {
        let resident = [&mut self.t1, &mut self.t2, &mut self.unused];
        for list in resident.into_iter().chain([&mut self.b1, &mut self.b2]) {
            take(list, page);
        }
    }

    fn contains(&self, page: PageId) -> bool {
        self.t1.contains(&page) || self.t2.contains(&page)
    }

    fn resident(&self) -> usize {
        self.t1.len() + self.t2.len()
    }
}
