//! A ghost of the kernel's readahead: what it would have brought if nothing were fetched.
//!
//! Linux reads the neighbours of a faulted page with it (mm/swap_state.c). While fetches spare
//! faults, the reads that these would have caused do not happen; so the ghost follows the faults
//! that there would be without fetches: each touch of a page that it has not brought itself. It
//! knows numbers of pages only.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::Costs;
use super::window::{Neighbours, Window};
use crate::page::{Location, Memory, Space};

/// Pages read ahead after which older ones count half in the judgement of readahead.
const FADING: u64 = 4096;
/// Pages read ahead that are enough to judge by.
const ENOUGH: u64 = 64;
/// The kernel's readahead as the machine has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelReadahead {
    /// `vm.page-cluster`: 2 to the power of this is the largest number of pages read at once.
    pub cluster: u32,
    /// What the kernel reads.
    pub by: Neighbours,
    /// Number of pages read after which one that was read ahead and not touched has been evicted.
    pub horizon: u64,
}

/// Where a page lies among its neighbours: its address space, none for slots, and its number in it.
type Place = (Space, u64);

/// The state of the kernel's readahead, and what it would have brought.
#[derive(Debug)]
pub struct Ghost {
    readahead: KernelReadahead,
    /// Pages that were read ahead and not touched, with the number of pages read before each.
    held: FxHashMap<Place, u64>,
    /// Places that were read ahead in their order, to drop those that have expired.
    order: VecDeque<(Place, u64)>,
    /// Number of pages read, ahead or by faults.
    arrivals: u64,
    /// Windows by address space; one for all slots.
    windows: FxHashMap<Space, Window>,
    /// Pages read ahead of late, and how many of them were touched.
    read: u64,
    hits: u64,
}

impl Ghost {
    /// Makes the readahead of a machine that has just booted.
    pub fn new(readahead: KernelReadahead) -> Self {
        Self {
            readahead,
            held: FxHashMap::default(),
            order: VecDeque::new(),
            arrivals: 0,
            windows: FxHashMap::default(),
            read: 0,
            hits: 0,
        }
    }

    /// Handles a touch of a page that is in the tier unless somebody fetched it; returns whether
    /// readahead would have brought it. A page whose slot is not known is left out.
    pub fn touched(&mut self, at: Location, memory: &mut dyn Memory) -> bool {
        let place = match self.readahead.by {
            Neighbours::Addresses => (at.space, at.page.0),
            Neighbours::Slots => match memory.slot(at) {
                Some(slot) => (Space::default(), slot.0),
                None => return false,
            },
        };
        let window = self.windows.entry(place.0).or_default();
        if let Some(since) = self.held.remove(&place)
            && self.arrivals - since <= self.readahead.horizon
        {
            window.hit(place.1, self.readahead.by);
            self.hits += 1;
            return true;
        }
        let KernelReadahead { cluster, by, .. } = self.readahead;
        let range = window.read(place.1, by, cluster);
        self.arrivals += 1;
        for number in range.filter(|number| *number != place.1) {
            self.bring((place.0, number));
        }
        self.expire();
        false
    }

    /// Whether this readahead pays, by its last few thousand pages.
    pub fn pays(&self, costs: &Costs) -> bool {
        self.read < ENOUGH || costs.readahead_pays(self.read, self.hits)
    }

    /// Forgets an address space that has ended.
    pub fn forget(&mut self, space: Space) {
        if self.readahead.by == Neighbours::Addresses {
            self.windows.remove(&space);
            self.held.retain(|place, _| place.0 != space);
        }
    }

    /// Reads a page ahead, unless it is there.
    fn bring(&mut self, place: Place) {
        let since = self.held.get(&place);
        if since.is_some_and(|since| self.arrivals - since <= self.readahead.horizon) {
            return;
        }
        self.arrivals += 1;
        self.held.insert(place, self.arrivals);
        self.order.push_back((place, self.arrivals));
        self.read += 1;
        if self.read >= FADING {
            self.read /= 2;
            self.hits /= 2;
        }
    }

    /// Drops what has been evicted.
    fn expire(&mut self) {
        while let Some(&(place, since)) = self.order.front()
            && self.arrivals - since > self.readahead.horizon
        {
            self.order.pop_front();
            if self.held.get(&place) == Some(&since) {
                self.held.remove(&place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{Everywhere, SPACE, Swapped, fault};

    fn ghost(cluster: u32, by: Neighbours) -> Ghost {
        Ghost::new(KernelReadahead {
            cluster,
            by,
            horizon: 100,
        })
    }

    /// Returns the pages that were faults, of those touched in turn.
    fn faults(ghost: &mut Ghost, pages: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let touched = pages.into_iter();
        let missed = touched.filter(|page| !ghost.touched(fault(1, *page).at, &mut Everywhere));
        missed.collect()
    }

    #[test]
    fn aligned_blocks_by_slots() {
        let mut ghost = ghost(3, Neighbours::Slots);
        // The second block is one of four, because only two of the first were used by then.
        let touched = [21, 16, 23, 24, 20, 22, 31];
        assert_eq!(faults(&mut ghost, touched), [21, 24, 31]);
        assert!(ghost.pays(&Costs::DISK));
    }

    #[test]
    fn windows_by_addresses_follow_the_pass() {
        let mut up = ghost(3, Neighbours::Addresses);
        // 100 alone is in the middle of a window of 8: 97 to 104.
        assert_eq!(faults(&mut up, 100..121), [100, 105, 113]);
        let mut down = ghost(3, Neighbours::Addresses);
        assert_eq!(faults(&mut down, (100..121).rev()), [120, 116, 108, 100]);
    }

    #[test]
    fn what_is_touched_again_was_evicted() {
        let mut ghost = ghost(3, Neighbours::Slots);
        assert_eq!(faults(&mut ghost, [8, 9, 9]), [8, 9]);
    }

    #[test]
    fn what_lies_untouched_for_long_is_gone() {
        let mut ghost = ghost(3, Neighbours::Slots);
        let far = (1..110).map(|block| 1000 + 8 * block);
        faults(&mut ghost, [8].into_iter().chain(far));
        assert_eq!(faults(&mut ghost, [9]), [9]);
        assert!(ghost.held.len() <= 100, "{}", ghost.held.len());
    }

    /// Hits at random are none, so the kernel soon reads single pages.
    #[test]
    fn random_faults_make_the_window_small() {
        let mut ghost = ghost(3, Neighbours::Slots);
        let pages = (0..2000u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20);
        assert_eq!(faults(&mut ghost, pages).len(), 2000);
        assert!(ghost.read < 20, "{}", ghost.read);
    }

    #[test]
    fn readahead_that_is_not_used_does_not_pay() {
        let mut ghost = ghost(3, Neighbours::Slots);
        // Two neighbours far from the next two: three pages are read with each first one.
        let pages = (0..400).map(|k| 64 * (k / 2) + k % 2);
        faults(&mut ghost, pages);
        assert!(ghost.pays(&Costs::DISK), "a third is used");
        let mut dear = Costs::DISK;
        dear.fetch *= 4;
        assert!(!ghost.pays(&dear));
    }

    #[test]
    fn a_page_without_a_known_slot_is_left_out() {
        let mut ghost = ghost(3, Neighbours::Slots);
        let mut memory = Swapped(vec![50, 60]);
        assert!(!ghost.touched(fault(1, 7).at, &mut memory));
        assert_eq!(ghost.arrivals, 0);
        assert!(!ghost.touched(fault(1, 50).at, &mut memory));
        assert!(ghost.touched(fault(1, 60).at, &mut memory));
    }

    #[test]
    fn an_address_space_is_forgotten() {
        let mut ghost = ghost(3, Neighbours::Addresses);
        assert_eq!(faults(&mut ghost, [100, 101]), [100]);
        ghost.forget(SPACE);
        assert_eq!(faults(&mut ghost, [102]), [102]);
    }
}
