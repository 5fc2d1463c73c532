//! Least frequently used, ties by least recently.

use terrace_policy::replacement::{PageId, Touch};

use super::simple::Simple;

#[derive(Default)]
pub struct Lfu {
    now: u64,
    pages: Vec<Resident>,
}

struct Resident {
    page: PageId,
    touches: u64,
    /// When it was touched last, or came in.
    last: u64,
}

impl Simple for Lfu {
    fn pages(&self) -> Vec<PageId> {
        self.pages.iter().map(|resident| resident.page).collect()
    }

    fn hit(&mut self, touch: Touch) {
        self.now += 1;
        for resident in &mut self.pages {
            if resident.page == touch.page {
                resident.touches += 1;
                resident.last = self.now;
            }
        }
    }

    fn evict(&mut self) -> PageId {
        let order = |at: &usize| (self.pages[*at].touches, self.pages[*at].last);
        let victim = (0..self.pages.len()).min_by_key(order);
        self.pages.remove(victim.expect("DRAM is full")).page
    }

    fn insert(&mut self, page: PageId, touch: Option<Touch>) {
        self.now += 1;
        self.pages.push(Resident {
            page,
            touches: u64::from(touch.is_some()),
            last: self.now,
        });
    }

    fn remove(&mut self, page: PageId) {
        self.pages.retain(|resident| resident.page != page);
    }
}
