//! Linux: two queues, active and inactive, with reference bits that are read only when a page's
//! turn comes; an inactive page that is used repeatedly becomes active.
//!
//! The classic page reclaim of Linux (without the multi-generational LRU), as it treats mapped
//! anonymous memory since 5.9. Kernel documentation: `admin-guide/mm/concepts.rst`, section
//! Reclaim, and the opening comment of `mm/workingset.c`, which explains refaults. The model
//! follows `folio_check_references`, `inactive_is_low` and `shrink_active_list` of `mm/vmscan.c`,
//! and `workingset_refault`.
//!
//! A page comes in inactive. When its turn comes it is evicted, unless the processor has set its
//! accessed bit: then the bit is cleared, and the page stays for another round the first time, and
//! becomes active the second time. While the inactive queue is small compared to the active one,
//! active pages become inactive in their turn, accessed or not. A page that comes back after at
//! most as many evictions as there are active pages would have stayed with a shorter active queue:
//! it becomes active at once.
//!
//! Differences from the kernel: one page at a time instead of 32; memory is reclaimed when it is
//! full and not by watermarks; there are neither files nor zones; a dirty page is treated like a
//! clean one.

use super::lists::{self, Lists};
use super::table::Table;
use super::{Answer, Entry, Make, PageId, Replacement, Touch};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "linux",
    summary: "the kernel's active and inactive queues with refaults",
    paper: "Linux, mm/workingset.c and admin-guide/mm/concepts.rst, since 5.9",
    when: "To predict what the kernel would do, as `terrace validate` does.",
    make: Make::Online(|capacity, _, _| Ok(Box::new(Linux::new(capacity)))),
};

/// Pages in a GiB, the unit by which the kernel sizes the inactive queue.
const GIB: usize = 1 << 18;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Queue {
    #[default]
    None,
    Inactive,
    Active,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    queue: Queue,
    /// The accessed bit of the page table: touched since reclaim last looked.
    accessed: bool,
    /// Reclaim has seen the page accessed before (the kernel's PG_referenced).
    referenced: bool,
}

impl From<Queue> for State {
    fn from(queue: Queue) -> Self {
        Self {
            queue,
            ..Self::default()
        }
    }
}

impl lists::State for State {
    const RESIDENT: usize = 2;

    fn list(self) -> usize {
        self.queue as usize
    }
}

/// Linux's active and inactive queues.
pub struct Linux {
    capacity: usize,
    /// Most active pages for each inactive page.
    inactive_ratio: usize,
    queues: Lists<State, 3>,
    /// Number of pages evicted or activated so far: the kernel's nonresident age.
    age: u64,
    /// Age at the eviction of each page: its shadow entry.
    shadows: Table<Option<u64>>,
}

impl Linux {
    /// Makes an empty DRAM of `capacity` pages of 4 KiB.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            inactive_ratio: (10 * (capacity / GIB)).isqrt().max(1),
            queues: Lists::default(),
            age: 0,
            shadows: Table::default(),
        }
    }

    fn admit(&mut self, page: PageId, accessed: bool) -> Option<PageId> {
        let full = self.resident() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        let active = self.queues.len(Queue::Active) as u64;
        match self.shadows.at(page).take() {
            Some(shadow) if self.age - shadow <= active => self.activate(page),
            _ => self.queues.push(page, Queue::Inactive),
        }
        self.queues.at(page).accessed = accessed;
        evicted
    }

    fn activate(&mut self, page: PageId) {
        self.age += 1;
        self.queues.push(page, Queue::Active);
    }

    fn evict(&mut self) -> Option<PageId> {
        loop {
            self.shrink_active();
            let (page, state) = self.queues.pop_back(Queue::Inactive)?;
            match (state.accessed, state.referenced) {
                (true, true) => self.activate(page),
                (true, false) => self.queues.push(page, Queue::Inactive),
                (false, _) => {
                    self.shadows.set(page, Some(self.age));
                    self.age += 1;
                    return Some(page);
                }
            }
            self.queues.at(page).referenced = true;
        }
    }

    /// Deactivates active pages while there are too few inactive ones.
    fn shrink_active(&mut self) {
        let queues = &mut self.queues;
        while queues.len(Queue::Inactive) * self.inactive_ratio < queues.len(Queue::Active)
            && let Some((page, state)) = queues.pop_back(Queue::Active)
        {
            queues.push(page, Queue::Inactive);
            queues.at(page).referenced = state.referenced;
        }
    }
}

impl Replacement for Linux {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            self.queues.at(touch.page).accessed = true;
            return Answer::Hit;
        }
        let evicted = self.admit(touch.page, true);
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        self.admit(page, false)
    }

    fn remove(&mut self, page: PageId) {
        self.queues.remove(page);
        self.shadows.clear(page);
    }

    fn expect(&self, pages: &[PageId]) {
        self.queues.expect(pages);
    }

    fn contains(&self, page: PageId) -> bool {
        self.queues.is_resident(page)
    }

    fn resident(&self) -> usize {
        self.queues.resident()
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    #[test]
    fn a_page_is_spared_once_for_the_touch_that_brought_it_in() {
        // 1 to 3 are spared, in turn, for the first touch, then 1 goes; 2 and 3 have used up
        // their first chance, while a page that was prefetched never had one.
        let mut linux = Linux::new(3);
        assert_eq!(evictions(&mut linux, &[1, 2, 3, 4]), [1]);
        assert_eq!(linux.prefetch(PageId(5)), Some(PageId(2)));
        assert_eq!(evictions(&mut linux, &[6, 7]), [3, 5]);
    }

    #[test]
    fn active_pages_survive_a_scan() {
        // As 5 comes, 2 is seen accessed for the second time and becomes active. It stays while
        // the pages from 5 on pass through the inactive queue.
        let mut linux = Linux::new(3);
        let pages = [1, 2, 3, 4, 2, 5, 6, 7, 8, 9];
        assert_eq!(evictions(&mut linux, &pages), [1, 3, 4, 5, 6, 7]);
        assert!(linux.contains(PageId(2)));
    }

    #[test]
    fn a_page_that_comes_back_soon_is_active() {
        // As 6 comes, 2 and 3 become active and 4 goes. As 4 comes back, 5 goes: two pages since
        // 4 went, and no fewer are active. 1 has been away for too long.
        let mut linux = Linux::new(4);
        let pages = [1, 2, 3, 4, 5, 2, 3, 6];
        assert_eq!(evictions(&mut linux, &pages), [1, 4]);
        assert_eq!(evictions(&mut linux, &[4, 1]), [5, 6]);
        assert_eq!(linux.queues.get(PageId(4)).queue, Queue::Active);
        assert_eq!(linux.queues.get(PageId(1)).queue, Queue::Inactive);
    }

    #[test]
    fn the_inactive_queue_is_sized_as_the_kernel_does() {
        let ratio = |gib: usize| Linux::new(gib * GIB).inactive_ratio;
        assert_eq!([1, 10, 100, 1024, 10240].map(ratio), [3, 10, 31, 101, 320]);
        assert_eq!(Linux::new(GIB - 1).inactive_ratio, 1);
    }
}
