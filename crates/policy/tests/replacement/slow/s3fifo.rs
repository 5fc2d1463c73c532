//! S3-FIFO, after algorithm 1 of the paper.

use terrace_policy::params::Params;
use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

use super::number;

pub struct S3Fifo {
    capacity: usize,
    most_main: usize,
    most_ghosts: usize,
    enough: i32,
    /// Each page with its count of touches, -1 for a page that was only prefetched; the next to
    /// go first.
    small: Vec<(PageId, i32)>,
    main: Vec<(PageId, i32)>,
    ghosts: Vec<PageId>,
}

impl S3Fifo {
    pub fn new(capacity: usize, params: &mut Params) -> Self {
        let small = number(params, "small", 0.1) * capacity as f64;
        let most_main = capacity - (small as usize).max(1);
        let ghosts = number(params, "ghosts", 1.0) * most_main as f64;
        Self {
            capacity,
            most_main,
            most_ghosts: ghosts as usize,
            enough: number(params, "touches", 2.0) as i32,
            small: Vec::new(),
            main: Vec::new(),
            ghosts: Vec::new(),
        }
    }

    /// Forgets that a page is a ghost, and makes room for it.
    fn make_room(&mut self, page: PageId) -> Option<PageId> {
        self.ghosts.retain(|ghost| *ghost != page);
        let full = self.small.len() + self.main.len() == self.capacity;
        full.then(|| self.take_next())
    }

    fn take_next(&mut self) -> PageId {
        let main_is_over = self.main.len() > self.most_main;
        while !main_is_over && !self.small.is_empty() {
            let (page, touches) = self.small.remove(0);
            if touches >= self.enough {
                self.main.push((page, 0));
                continue;
            }
            if touches >= 0 {
                self.ghosts.push(page);
            }
            if self.ghosts.len() > self.most_ghosts {
                self.ghosts.remove(0);
            }
            return page;
        }
        loop {
            let (page, touches) = self.main.remove(0);
            if touches == 0 {
                return page;
            }
            self.main.push((page, touches.min(3) - 1));
        }
    }
}

impl Replacement for S3Fifo {
    fn touch(&mut self, touch: Touch) -> Answer {
        for (page, touches) in self.small.iter_mut().chain(&mut self.main) {
            if *page == touch.page {
                *touches += 1;
                return Answer::Hit;
            }
        }
        let ghost = self.ghosts.contains(&touch.page);
        let evicted = self.make_room(touch.page);
        let queue = if ghost {
            &mut self.main
        } else {
            &mut self.small
        };
        queue.push((touch.page, 0));
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        let evicted = self.make_room(page);
        self.small.push((page, -1));
        evicted
    }

    fn evict(&mut self) -> Option<PageId> {
        (self.resident() > 0).then(|| self.take_next())
    }

    fn remove(&mut self, page: PageId) {
        self.small.retain(|(other, _)| *other != page);
        self.main.retain(|(other, _)| *other != page);
        self.ghosts.retain(|other| *other != page);
    }

    fn contains(&self, page: PageId) -> bool {
        self.small
            .iter()
            .chain(&self.main)
            .any(|(other, _)| *other == page)
    }

    fn resident(&self) -> usize {
        self.small.len() + self.main.len()
    }
}
