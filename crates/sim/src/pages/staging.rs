//! Staging: pages that have left the lists of DRAM and stay in a part of it, as in regions (the
//! crate `terrace-region`).
//!
//! Pages come in at one end, and the oldest leave at the other, a quarter at once. A page that is
//! touched before that returns without the device, whether it was written or not: a victim cache. A
//! page is due to be written once half of the slots behind it were taken, so that one that returns
//! soon is not written for nothing.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use terrace_policy::replacement::PageId;

use super::store::{Flags, Store};

/// Slots of a part of DRAM.
pub(super) struct Staging {
    capacity: usize,
    /// From the oldest on; a page that has returned leaves its slot empty.
    slots: VecDeque<Option<PageId>>,
    /// Number of the oldest slot, counted from the beginning.
    first: u64,
    /// Slots from the oldest on that [`Staging::due`] has passed.
    passed: usize,
    /// Numbers of the slots of pages.
    at: FxHashMap<PageId, u64>,
}

impl Staging {
    /// Makes this many slots; `None` if there are to be none.
    pub(super) fn new(capacity: usize) -> Option<Self> {
        (capacity > 0).then(|| Self {
            capacity,
            slots: VecDeque::new(),
            first: 0,
            passed: 0,
            at: FxHashMap::default(),
        })
    }

    /// Takes a page in, and lets the oldest go if there is no slot. [`Staging::due`] is asked after
    /// each: no page goes that it has not passed.
    pub(super) fn push(&mut self, page: PageId, store: &mut Store) {
        if self.slots.len() == self.capacity {
            self.let_go(self.capacity.div_ceil(4), store);
        }
        store.set(page, Flags::STAGED);
        self.at.insert(page, self.first + self.slots.len() as u64);
        self.slots.push_back(Some(page));
    }

    /// Returns a page that is to be written if that is needed, each once; `None` if none is.
    pub(super) fn due(&mut self) -> Option<PageId> {
        while self.passed + self.capacity / 2 < self.slots.len() {
            self.passed += 1;
            if let Some(page) = self.slots[self.passed - 1] {
                return Some(page);
            }
        }
        None
    }

    /// Gives a page back to the lists of DRAM, if it is here.
    pub(super) fn rescue(&mut self, page: PageId, store: &mut Store) {
        if let Some(slot) = self.at.remove(&page) {
            store.clear(page, Flags::STAGED);
            self.slots[(slot - self.first) as usize] = None;
        }
    }

    fn let_go(&mut self, slots: usize, store: &mut Store) {
        for page in self.slots.drain(..slots).flatten() {
            store.clear(page, Flags::STAGED);
            self.at.remove(&page);
        }
        self.first += slots as u64;
        self.passed -= slots;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Takes pages in, and returns those that are due.
    fn push(staging: &mut Staging, store: &mut Store, pages: std::ops::Range<u32>) -> Vec<u32> {
        let mut due = Vec::new();
        for page in pages {
            staging.push(PageId(page), store);
            due.extend(std::iter::from_fn(|| staging.due()).map(|page| page.0));
        }
        due
    }

    fn staged(store: &Store) -> Vec<u32> {
        let is_staged = |page: &u32| store.flags(PageId(*page)).any(Flags::STAGED);
        (0..20).filter(is_staged).collect()
    }

    #[test]
    fn pages_are_due_at_half_and_leave_by_the_quarter() {
        let (mut staging, mut store) = (Staging::new(8).unwrap(), Store::new(1, false));
        store.cover(20);
        assert_eq!(push(&mut staging, &mut store, 0..8), [0, 1, 2, 3]);
        assert_eq!(staged(&store), [0, 1, 2, 3, 4, 5, 6, 7]);
        // The first two go; one that was due and one that was not return.
        assert_eq!(push(&mut staging, &mut store, 8..9), [4]);
        staging.rescue(PageId(2), &mut store);
        staging.rescue(PageId(5), &mut store);
        staging.rescue(PageId(0), &mut store);
        assert_eq!(staged(&store), [3, 4, 6, 7, 8]);
        assert_eq!(push(&mut staging, &mut store, 9..12), [6, 7]);
        assert_eq!(staged(&store), [4, 6, 7, 8, 9, 10, 11]);
    }

    /// The slow twin: every slot with its page, and whether that has returned and whether it was
    /// named.
    struct Slow {
        capacity: usize,
        slots: Vec<(u32, bool, bool)>,
    }

    impl Slow {
        fn push(&mut self, page: u32) {
            if self.slots.len() == self.capacity {
                self.slots.drain(..self.capacity.div_ceil(4));
            }
            self.slots.push((page, false, false));
        }

        /// A slot is due once half of all slots are younger.
        fn due(&mut self) -> Option<u32> {
            let number = self.slots.len();
            for (at, (page, returned, named)) in self.slots.iter_mut().enumerate() {
                let younger = number - 1 - at;
                if younger >= self.capacity / 2 && !std::mem::replace(named, true) && !*returned {
                    return Some(*page);
                }
            }
            None
        }

        fn rescue(&mut self, page: u32) {
            let here = |slot: &&mut (u32, bool, bool)| slot.0 == page && !slot.1;
            if let Some(slot) = self.slots.iter_mut().find(here) {
                slot.1 = true;
            }
        }

        fn staged(&self) -> Vec<u32> {
            let here = self.slots.iter().filter(|slot| !slot.1);
            let mut here: Vec<u32> = here.map(|slot| slot.0).collect();
            here.sort_unstable();
            here
        }
    }

    proptest! {
        #[test]
        fn as_its_slow_twin(
            capacity in 1..12_usize,
            steps in prop::collection::vec((0..3_u8, 0..20_u32), 0..200),
        ) {
            let (mut fast, mut store) = (Staging::new(capacity).unwrap(), Store::new(1, false));
            let mut slow = Slow { capacity, slots: Vec::new() };
            store.cover(20);
            for (step, page) in steps {
                match step {
                    // A page that has left does not leave once more.
                    0 if staged(&store).contains(&page) => {}
                    0 => {
                        fast.push(PageId(page), &mut store);
                        slow.push(page);
                        prop_assert_eq!(fast.due().map(|page| page.0), slow.due());
                    }
                    1 => {
                        fast.rescue(PageId(page), &mut store);
                        slow.rescue(page);
                    }
                    _ => prop_assert_eq!(fast.due().map(|page| page.0), slow.due()),
                }
                prop_assert_eq!(staged(&store), slow.staged());
            }
        }
    }

    #[test]
    fn any_number_of_slots_works() {
        assert!(Staging::new(0).is_none());
        for capacity in 1..9 {
            let (mut staging, mut store) = (Staging::new(capacity).unwrap(), Store::new(1, false));
            store.cover(20);
            let due = push(&mut staging, &mut store, 0..20);
            let all: Vec<u32> = (0..20 - capacity as u32 / 2).collect();
            assert_eq!(due, all, "{capacity} slots");
            assert!(staged(&store).len() <= capacity);
        }
    }
}
