//! The window of the kernel's swap readahead, which follows the use of what it read.
//!
//! Linux since 3.14 reads few pages where few are used: `swapin_nr_pages` by slots of the swap
//! area, and `swap_vma_ra_win` by addresses where no area rotates (mm/swap_state.c, Linux 6.18).

use std::ops::Range;

/// Pages of a page table, beyond which a window by addresses does not reach.
const TABLE: u64 = 512;
/// The largest window by addresses, as a power of two (`SWAP_RA_ORDER_CEILING` of 64 bits).
const CEILING: u32 = 5;
/// Readahead hits with which the kernel begins: a full window.
const FIRST_HITS: u64 = 4;

/// What the kernel takes for the neighbours of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Neighbours {
    /// An aligned block of the swap area, if any area rotates (`swap_cluster_readahead`).
    Slots,
    /// A window of addresses around the page (`swap_vma_readahead`).
    Addresses,
}

/// How far the kernel reads.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Number of the page that it was last led to.
    last: u64,
    /// Pages of the last read.
    pages: u64,
    /// Pages read ahead that were touched since then.
    hits: u64,
}

impl Default for Window {
    /// The window of a machine that has just booted.
    fn default() -> Self {
        Self {
            last: 0,
            pages: 0,
            hits: FIRST_HITS,
        }
    }
}

impl Window {
    /// Returns the most pages that are read at once.
    pub fn most(by: Neighbours, cluster: u32) -> u64 {
        1 << match by {
            Neighbours::Slots => cluster,
            Neighbours::Addresses => cluster.min(CEILING),
        }
    }

    /// Notes the first touch of a page that was read ahead.
    pub fn hit(&mut self, number: u64, by: Neighbours) {
        self.hits += 1;
        if by == Neighbours::Addresses {
            self.last = number;
        }
    }

    /// Returns the numbers of what the kernel reads at a fault on the page of this number, that
    /// page included: at most 2 to the power of `cluster` (`vm.page-cluster`), and by addresses at
    /// most 32. The number is that of a slot, or of a page of the address space.
    pub fn read(&mut self, number: u64, by: Neighbours, cluster: u32) -> Range<u64> {
        let most = Self::most(by, cluster);
        let (before, hits) = (self.last, std::mem::take(&mut self.hits));
        let is_next = |one: u64, other: u64| one.checked_sub(other) == Some(1);
        let wanted = match hits {
            0 if is_next(number, before) || is_next(before, number) => 2,
            0 => 1,
            _ => (hits + 2).next_power_of_two(),
        };
        // It does not shrink too fast.
        let pages = wanted.min(most).max(self.pages / 2);
        self.pages = pages;
        match by {
            Neighbours::Slots => {
                if hits == 0 {
                    self.last = number;
                }
                let first = number & !(pages - 1);
                first..first + pages
            }
            Neighbours::Addresses => {
                self.last = number;
                let below = match () {
                    () if is_next(number, before) => 0,
                    () if is_next(before, number) => pages - 1,
                    () => (pages - 1) / 2,
                };
                let table = number & !(TABLE - 1);
                let (first, end) = (number.saturating_sub(below), number + pages - below);
                first.max(table)..end.min(table + TABLE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faults on every tenth page, of which nothing that is read ahead is used.
    #[test]
    fn what_is_not_used_ends_readahead() {
        let mut window = Window::default();
        let mut read = |page| {
            let range = window.read(page, Neighbours::Addresses, 3);
            range.end - range.start
        };
        assert_eq!(
            [1000, 1010, 1020, 1030, 1040].map(&mut read),
            [8, 4, 2, 1, 1]
        );
        // Two pages behind each other begin it again.
        assert_eq!([1041].map(read), [2]);
    }

    #[test]
    fn a_window_by_addresses_has_at_most_32_pages() {
        for (by, most) in [(Neighbours::Addresses, 32), (Neighbours::Slots, 256)] {
            let mut window = Window::default();
            (0..1000).for_each(|page| window.hit(page, by));
            let range = window.read(2304, by, 8);
            assert_eq!(range.end - range.start, most);
        }
    }

    #[test]
    fn what_is_used_makes_it_wide() {
        let mut window = Window::default();
        window.read(100, Neighbours::Addresses, 3);
        for page in 101..105 {
            window.hit(page, Neighbours::Addresses);
        }
        assert_eq!(window.read(105, Neighbours::Addresses, 3), 105..113);
        assert_eq!(window.read(512, Neighbours::Addresses, 3), 512..515);
    }
}
