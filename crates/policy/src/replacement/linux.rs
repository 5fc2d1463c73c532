//! Linux: two queues, active and inactive, with reference bits that are read only when a page's
//! turn comes; an inactive page that is used repeatedly becomes active.
//!
//! The classic page reclaim of Linux (without the multi-generational LRU), as it treats mapped
//! anonymous memory since 5.9. Kernel documentation: `admin-guide/mm/concepts.rst`, section
//! Reclaim, and the opening comment of `mm/workingset.c`, which explains refaults. The model
//! follows `folio_check_references`, `inactive_is_low`, `prepare_scan_control`, `get_scan_count`,
//! `shrink_lruvec` and `shrink_active_list` of `mm/vmscan.c`, and `workingset_refault`.
//!
//! A page comes in inactive. When its turn comes it is evicted, unless the processor has set its
//! accessed bit: then the bit is cleared, and the page stays for another turn the first time, and
//! becomes active the second time. A page that comes back after at most as many evictions as there
//! are active pages would have stayed with a shorter active queue: it becomes active at once.
//!
//! A dirty page is not evicted when its turn comes, but written (`pageout`). When it is written, it
//! is the next to be looked at (`folio_rotate_reclaimable`), and is evicted then, unless it was
//! touched meanwhile: so a dirty page in frequent use is written, and stays. A write has ended when
//! 32 more have begun, which take a processor longer than a disk takes for one.
//!
//! Reclaim frees at least 32 pages at a time. It looks at a small share of the queue first, and at
//! twice as much with each priority, up to all of it, until that many are free. A priority looks at
//! its whole share unless it frees that many by itself. If a page became
//! active as it came back since the last reclaim, or if the inactive queue is smaller than the
//! active one (of more than a GiB, a fraction of it), then the same share of the active queue
//! becomes inactive, accessed or not; and in the second case 32 pages more at each priority. So
//! where most pages are in use, reclaim goes through all of them, and no page stays active.
//!
//! Differences from the kernel: a page that was freed leaves DRAM only when its room is wanted, and
//! a touch until then is a hit, though it leaves all the same; the lengths of the queues are known
//! exactly as a reclaim begins, and not by statistics of some time before; memory is reclaimed when
//! it is full and not by watermarks; there are neither files nor zones; all pages are written by
//! the time of the next reclaim, and a touch of one until then is no fault.

use std::mem;

use super::lists::{self, Lists};
use super::table::Table;
use super::{Answer, Entry, Make, PageId, Replacement, Touch};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "linux",
    summary: "the kernel's active and inactive queues with refaults",
    paper: "Linux, mm/workingset.c and admin-guide/mm/concepts.rst, since 5.9",
    when: "To predict what the kernel would do, as `terrace validate` does.",
    evidence: crate::registry::Evidence {
        open: "When memory is reclaimed, and what is not memory of programs: see the file's \
               list of differences.",
        compared: "the kernel itself, by terrace validate: benches/validate has the error of each \
                   figure of ten programs",
    },
    make: Make::Online(&|capacity, _, _| Ok(Box::new(Linux::new(capacity)))),
};

/// Pages that a reclaim frees at least, and those that are looked at in a row (`SWAP_CLUSTER_MAX`).
const CLUSTER: usize = 32;
/// The lowest priority, with which reclaim begins (`DEF_PRIORITY`): it looks at a share of
/// `1 / 2^priority`.
const PRIORITY: u32 = 12;
/// Share of the pressure on anonymous pages where there are no others to refault, with a swappiness
/// of 60: 60 * 3/2 against 140 * 3 (`get_scan_count`).
const ANONYMOUS: (usize, usize) = (3, 17);

/// Pages in a GiB, the unit by which the kernel sizes the inactive queue.
const GIB: usize = 1 << 18;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Queue {
    #[default]
    None,
    Inactive,
    Active,
    /// Being written: it does not leave with this reclaim.
    Writing,
    /// Free in the kernel: leaves when its room is wanted.
    Reclaimed,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    queue: Queue,
    /// The accessed bit of the page table: touched since reclaim last looked.
    accessed: bool,
    /// Reclaim has seen the page accessed before (the kernel's PG_referenced).
    referenced: bool,
    /// Written to since it was last written out.
    dirty: bool,
}

impl State {
    /// Returns the state of a page that moves to a queue, its accessed bit cleared.
    fn moved(self, queue: Queue, referenced: bool) -> Self {
        Self {
            queue,
            accessed: false,
            referenced,
            dirty: self.dirty,
        }
    }
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
    const RESIDENT: usize = 4;

    #[inline]
    fn list(self) -> usize {
        self.queue as usize
    }
}

/// Linux's active and inactive queues.
pub struct Linux {
    capacity: usize,
    /// Most active pages for each inactive page.
    inactive_ratio: usize,
    queues: Lists<State, 5>,
    /// Pages found dirty when room was last made, but for those that the driver has heard.
    writes: Vec<PageId>,
    /// Whether a page became active as it came back since the last reclaim.
    refaulted: bool,
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
            writes: Vec::new(),
            refaulted: false,
            age: 0,
            shadows: Table::default(),
        }
    }

    /// Brings in a page: for a touch, or none if it is fetched ahead.
    fn admit(&mut self, page: PageId, touch: Option<Touch>) -> Option<PageId> {
        let full = self.resident() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        let active = self.queues.len(Queue::Active) as u64;
        match self.shadows.at(page).take() {
            Some(shadow) if self.age - shadow <= active => {
                self.refaulted = true;
                self.activate(page, Queue::Active.into());
            }
            _ => self.queues.push(page, Queue::Inactive),
        }
        let state = self.queues.at(page);
        state.accessed = touch.is_some();
        state.dirty = touch.is_some_and(|touch| touch.write);
        evicted
    }

    fn activate(&mut self, page: PageId, state: State) {
        self.age += 1;
        self.queues.push(page, state);
    }

    /// Frees pages, and has dirty ones written; neither if all that were looked at had been
    /// accessed.
    fn reclaim(&mut self) {
        self.shrink();
        self.end_writes(0);
    }

    /// Ends the oldest writes, until at most `under_way` are left.
    fn end_writes(&mut self, under_way: usize) {
        while self.queues.len(Queue::Writing) > under_way
            && let Some((page, _)) = self.queues.pop_back(Queue::Writing)
        {
            self.queues.push_back(page, Queue::Inactive);
        }
    }

    fn shrink(&mut self) {
        let low =
            self.queues.len(Queue::Inactive) * self.inactive_ratio < self.queues.len(Queue::Active);
        let deactivates = mem::take(&mut self.refaulted) || low;
        for priority in (0..=PRIORITY).rev() {
            let before = self.queues.len(Queue::Reclaimed);
            let mut inactive = share(self.queues.len(Queue::Inactive), priority);
            let mut active = share(self.queues.len(Queue::Active), priority);
            // What earlier priorities freed does not end this one (`nr_reclaimed` of
            // `shrink_lruvec`).
            while inactive > 0 && self.queues.len(Queue::Reclaimed) - before < CLUSTER {
                self.look_at(inactive.min(CLUSTER));
                inactive = inactive.saturating_sub(CLUSTER);
                if deactivates {
                    self.deactivate(active.min(CLUSTER));
                    active = active.saturating_sub(CLUSTER);
                }
            }
            if low {
                self.deactivate(CLUSTER);
            }
            if self.queues.len(Queue::Reclaimed) >= CLUSTER {
                return;
            }
        }
    }

    /// Looks at inactive pages in their turn. Those that were not accessed are freed, or written if
    /// they are dirty.
    fn look_at(&mut self, pages: usize) {
        for _ in 0..pages.min(self.queues.len(Queue::Inactive)) {
            let Some((page, state)) = self.queues.pop_back(Queue::Inactive) else {
                return;
            };
            match (state.accessed, state.referenced) {
                (true, true) => self.activate(page, state.moved(Queue::Active, true)),
                (true, false) => self.queues.push(page, state.moved(Queue::Inactive, true)),
                (false, _) if state.dirty => {
                    self.writes.push(page);
                    self.queues.push(page, Queue::Writing);
                }
                (false, _) => {
                    self.shadows.set(page, Some(self.age));
                    self.age += 1;
                    self.queues.push(page, Queue::Reclaimed);
                }
            }
        }
        self.end_writes(CLUSTER);
    }

    fn deactivate(&mut self, pages: usize) {
        for _ in 0..pages {
            let Some((page, state)) = self.queues.pop_back(Queue::Active) else {
                return;
            };
            let inactive = state.moved(Queue::Inactive, state.referenced);
            self.queues.push(page, inactive);
        }
    }
}

/// Pages of a queue of `length` that are looked at with a priority.
fn share(length: usize, priority: u32) -> usize {
    match priority {
        0 => length,
        _ => (length >> priority) * ANONYMOUS.0 / ANONYMOUS.1,
    }
}

impl Replacement for Linux {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            let state = self.queues.at(touch.page);
            state.accessed = true;
            state.dirty |= touch.write;
            return Answer::Hit;
        }
        let evicted = self.admit(touch.page, Some(touch));
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        self.admit(page, None)
    }

    fn evict(&mut self) -> Option<PageId> {
        if self.queues.len(Queue::Reclaimed) == 0 {
            self.writes.clear();
        }
        while self.queues.len(Queue::Reclaimed) == 0 {
            if self.queues.resident() == 0 {
                return None;
            }
            self.reclaim();
        }
        let (page, _) = self.queues.pop_back(Queue::Reclaimed)?;
        Some(page)
    }

    fn evicts(&self) -> bool {
        true
    }

    fn cleaned(&mut self, page: PageId) {
        self.queues.at(page).dirty = false;
    }

    fn remove(&mut self, page: PageId) {
        self.queues.remove(page);
        self.shadows.clear(page);
    }

    fn expect(&self, pages: &[PageId]) {
        self.queues.expect(pages);
    }

    fn writes(&mut self) -> Vec<PageId> {
        mem::take(&mut self.writes)
    }

    fn has_writes(&self) -> bool {
        true
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

    /// A DRAM of 128 pages after the second reclaim, in which the pages of `again` became active:
    /// they had been spared in the first one and were touched again.
    fn active(again: std::ops::Range<u32>) -> Linux {
        let mut linux = Linux::new(128);
        let pages: Vec<_> = (0..129).chain(again.clone()).chain(129..178).collect();
        assert_eq!(evictions(&mut linux, &pages), (0..50).collect::<Vec<_>>());
        assert_eq!(linux.queues.len(Queue::Active), again.len());
        linux
    }

    /// Pages that are touched once.
    fn pass(linux: &mut Linux) -> Vec<u32> {
        evictions(linux, &(200..300).collect::<Vec<_>>())
    }

    #[test]
    fn pages_are_freed_together_and_leave_one_by_one() {
        // The first pages of the queue were looked at twice, as most had been accessed.
        let mut linux = Linux::new(128);
        let pages: Vec<_> = (0..129).collect();
        assert_eq!(evictions(&mut linux, &pages), [0]);
        assert_eq!(linux.queues.len(Queue::Reclaimed), 18);
        assert_eq!(evictions(&mut linux, &[1, 129, 130, 131]), [1, 2, 3]);
    }

    const DIRTIED: Touch = Touch {
        page: PageId(0),
        write: true,
    };

    /// Pages that go as these are fetched ahead.
    fn fetched(linux: &mut Linux, pages: std::ops::Range<u32>) -> Vec<u32> {
        let gone = pages.filter_map(|page| linux.fetch(PageId(page)));
        gone.map(|page| page.0).collect()
    }

    #[test]
    fn reclaim_begins_with_a_4096th_of_the_pressure() {
        // The first four priorities look at 2, 4, 9 and 18 pages, which is enough.
        const PAGES: u32 = 13 << 12;
        let mut linux = Linux::new(PAGES as usize);
        assert!((0..PAGES).all(|page| linux.fetch(PageId(page)).is_none()));
        assert_eq!(linux.fetch(PageId(PAGES)), Some(PageId(0)));
        assert_eq!(linux.queues.len(Queue::Reclaimed), 2 + 4 + 9 + 18 - 1);
    }

    /// Of 1,088 pages the priorities from 7 on look at 1, 3, 6, 12, 24 and 46. The first four find
    /// 22 accessed pages, the fifth frees 24. The last one finds 10 accessed among its first 32,
    /// and goes on with its other 14, though 46 are free by then.
    #[test]
    fn a_priority_looks_at_its_share_whatever_others_have_freed() {
        let mut linux = Linux::new(1088);
        for page in (0..1088).map(PageId) {
            match page.0 {
                0..22 | 46..56 => _ = linux.touch(Touch { page, write: false }),
                _ => _ = linux.fetch(page),
            }
        }
        assert_eq!(linux.fetch(PageId(1088)), Some(PageId(22)));
        assert_eq!(linux.queues.len(Queue::Reclaimed), 24 + 22 + 14 - 1);
    }

    /// All of 1,088 pages are dirty. The priorities from 7 on look at 1, 2, 5, 11 and 23, and the
    /// first 10 writes have ended then. The next looks at 46: it frees these 10, writes 22, and
    /// frees 14 of the 22 whose writes end by that. The last one frees 8 and writes 24 of 32 pages,
    /// and frees 24 and writes 8 of 32 others.
    #[test]
    fn a_reclaim_of_dirty_pages_frees_those_that_it_wrote_first() {
        let mut linux = Linux::new(1088);
        for page in (0..1088).map(PageId) {
            linux.touch(Touch { page, write: true });
            linux.queues.at(page).accessed = false;
        }
        assert_eq!(linux.fetch(PageId(1088)), Some(PageId(9)));
        assert_eq!(linux.writes().len(), 1 + 2 + 5 + 11 + 23 + 22 + 24 + 8);
        assert_eq!(linux.queues.len(Queue::Reclaimed), 10 + 14 + 8 + 24 - 1);
    }

    #[test]
    fn a_dirty_page_is_written_and_goes_with_the_next_reclaim_unless_it_is_touched() {
        for (touched, gone) in [(false, 0), (true, 50)] {
            let mut linux = Linux::new(128);
            linux.touch(DIRTIED);
            linux.queues.at(DIRTIED.page).accessed = false;
            assert_eq!(fetched(&mut linux, 1..129), [1]);
            assert_eq!(linux.writes(), [DIRTIED.page]);
            if touched {
                let write = false;
                assert_eq!(linux.touch(Touch { write, ..DIRTIED }), Answer::Hit);
            }
            assert_eq!(fetched(&mut linux, 129..177), (2..50).collect::<Vec<_>>());
            assert_eq!(fetched(&mut linux, 177..178), [gone]);
            assert!(linux.writes().is_empty(), "it is clean");
        }
    }

    /// Pages that a pass over every third of 4,608 pages reads, of which the first `ahead` behind
    /// each are fetched with it; the third pass.
    fn read_in_a_pass(ahead: u32) -> usize {
        let mut linux = Linux::new(2300);
        let mut pass = |step: usize, ahead: u32| {
            let mut read = 0;
            for page in (0..4608).step_by(step).map(PageId) {
                let touch = Touch { page, write: false };
                read += usize::from(linux.touch(touch) != Answer::Hit);
                for behind in (page.0 + 1..4608).take(ahead as usize).map(PageId) {
                    if !linux.contains(behind) {
                        linux.fetch(behind);
                        read += 1;
                    }
                }
            }
            read
        };
        pass(1, 0);
        let reads: Vec<_> = (0..3).map(|_| pass(3, ahead)).collect();
        reads[2]
    }

    /// Linux 6.18 read 4,606 pages in each pass of such a program, which has the eight behind each
    /// touch fetched by madvise(2), and none without fetches.
    #[test]
    fn fetched_pages_push_out_pages_in_use() {
        assert!(
            read_in_a_pass(8).abs_diff(4606) < 10,
            "{}",
            read_in_a_pass(8)
        );
        assert_eq!(read_in_a_pass(0), 0);
    }

    #[test]
    fn active_pages_survive_a_pass() {
        let mut linux = active(50..90);
        pass(&mut linux);
        assert!((50..90).all(|page| linux.contains(PageId(page))));
        assert_eq!(linux.queues.len(Queue::Active), 40);
    }

    #[test]
    fn a_page_that_comes_back_soon_is_active_and_others_are_no_longer() {
        // Fewer pages have gone or become active since 90 was freed than are active, more since 0.
        let mut linux = active(50..90);
        assert_eq!(evictions(&mut linux, &[178, 90, 0]), [90, 91, 92]);
        assert_eq!(linux.queues.get(PageId(90)).queue, Queue::Active);
        assert_eq!(linux.queues.get(PageId(0)).queue, Queue::Inactive);
        pass(&mut linux);
        assert_eq!(linux.queues.len(Queue::Active), 0);
        assert!(!linux.contains(PageId(50)));
    }

    #[test]
    fn with_few_inactive_pages_the_active_ones_become_inactive() {
        let mut linux = active(50..128);
        evictions(&mut linux, &[178]);
        assert_eq!(linux.queues.len(Queue::Active), 0);
        assert!((50..128).all(|page| linux.contains(PageId(page))));
    }

    #[test]
    fn the_inactive_queue_is_sized_as_the_kernel_does() {
        let ratio = |gib: usize| Linux::new(gib * GIB).inactive_ratio;
        assert_eq!([1, 10, 100, 1024, 10240].map(ratio), [3, 10, 31, 101, 320]);
        assert_eq!(Linux::new(GIB - 1).inactive_ratio, 1);
    }
}
