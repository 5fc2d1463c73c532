//! The `terrace` command with a replacement policy of its own: most recently used.

use std::process::ExitCode;

use terrace_policy::registry::{Evidence, register};
use terrace_policy::replacement::{Answer, Entry, Make, PageId, Replacement, Touch};

const MRU: Entry = Entry {
    name: "mru",
    summary: "most recently used: evicts the page that was touched last",
    paper: "Chou and DeWitt, VLDB 1985",
    when: "For passes in order over a little more than DRAM, again and again.",
    evidence: Evidence::NONE,
    make: Make::Online(&|capacity, _, _| Ok(Box::new(Mru::new(capacity)))),
};

/// The pages in DRAM, the one that was touched last at the end.
struct Mru {
    pages: Vec<PageId>,
    capacity: usize,
}

impl Mru {
    fn new(capacity: usize) -> Self {
        let pages = Vec::with_capacity(capacity);
        Self { pages, capacity }
    }
}

impl Replacement for Mru {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            self.remove(touch.page);
            self.pages.push(touch.page);
            return Answer::Hit;
        }
        let evicted = self.fetch(touch.page);
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        let is_full = self.pages.len() == self.capacity;
        let evicted = is_full.then(|| self.pages.pop()).flatten();
        self.pages.push(page);
        evicted
    }

    fn remove(&mut self, page: PageId) {
        self.pages.retain(|other| *other != page);
    }

    fn contains(&self, page: PageId) -> bool {
        self.pages.contains(&page)
    }

    fn resident(&self) -> usize {
        self.pages.len()
    }
}

fn main() -> ExitCode {
    // The version changes whenever the policy decides otherwise: sweeps keep results under it.
    register(MRU, "1").expect("no other policy has this name");
    terrace::main()
}
