//! The ghost of the kernel's readahead beside a slow twin: lists that are searched, and the
//! kernel's own lines (mm/swap_state.c, Linux 6.18) in place of ranges.

use proptest::prelude::*;
use terrace_policy::prefetch::ghost::Ghost;
use terrace_policy::prefetch::{KernelReadahead, Neighbours};
use terrace_policy::{Location, Memory, Page, Residence, Slot, Space};

/// A memory in which the pages of all address spaces lie in the tier in the order of their numbers,
/// and each seventh is not known.
struct Tier;

impl Memory for Tier {
    fn residence(&mut self, _: Location) -> Residence {
        Residence::InTier
    }

    fn slot(&mut self, at: Location) -> Option<Slot> {
        (!at.page.0.is_multiple_of(7)).then_some(Slot(at.page.0 * 3 / 2))
    }
}

/// A readahead in the kernel's own words.
struct Twin {
    readahead: KernelReadahead,
    /// Address space, number, and the count of arrivals of each page that was read ahead.
    held: Vec<(u32, u64, u64)>,
    arrivals: u64,
    /// Address space, last number, last window and hits.
    windows: Vec<(u32, u64, u64, u64)>,
}

impl Twin {
    fn touched(&mut self, at: Location) -> bool {
        let (space, number) = match self.readahead.by {
            Neighbours::Addresses => (at.space.0, at.page.0),
            Neighbours::Slots => match Tier.slot(at) {
                Some(Slot(slot)) => (0, slot),
                None => return false,
            },
        };
        if !self.windows.iter().any(|window| window.0 == space) {
            self.windows.push((space, 0, 0, 4));
        }
        let window = self.windows.iter_mut().find(|w| w.0 == space).unwrap();
        let fresh = |since: u64, arrivals: u64| arrivals - since <= self.readahead.horizon;
        let found = self.held.iter().position(|h| (h.0, h.1) == (space, number));
        let since = found.map(|index| self.held.remove(index).2);
        if since.is_some_and(|since| fresh(since, self.arrivals)) {
            window.3 += 1;
            if self.readahead.by == Neighbours::Addresses {
                window.1 = number;
            }
            return true;
        }
        // __swapin_nr_pages()
        let (before, last_window, hits) = (window.1, window.2, window.3);
        let mut pages = hits + 2;
        if pages == 2 {
            if number != before + 1 && number + 1 != before {
                pages = 1;
            }
        } else {
            let mut roundup = 4;
            while roundup < pages {
                roundup <<= 1;
            }
            pages = roundup;
        }
        pages = pages.min(1 << self.readahead.cluster).max(last_window / 2);
        (window.2, window.3) = (pages, 0);
        let (first, last) = match self.readahead.by {
            Neighbours::Slots => {
                if hits == 0 {
                    window.1 = number;
                }
                let mask = pages - 1;
                (number & !mask, number | mask)
            }
            Neighbours::Addresses => {
                window.1 = number;
                let left = (pages - 1) / 2;
                let (lowest, end) = if number == before + 1 {
                    (number as i64, number + pages)
                } else if before == number + 1 {
                    (number as i64 + 1 - pages as i64, number + 1)
                } else {
                    (number as i64 - left as i64, number + pages - left)
                };
                let table = number / 512 * 512;
                (lowest.max(table as i64) as u64, end.min(table + 512) - 1)
            }
        };
        self.arrivals += 1;
        for other in (first..=last).filter(|other| *other != number) {
            let there = self.held.iter().position(|h| (h.0, h.1) == (space, other));
            if there.is_some_and(|index| fresh(self.held[index].2, self.arrivals)) {
                continue;
            }
            there.map(|index| self.held.remove(index));
            self.arrivals += 1;
            self.held.push((space, other, self.arrivals));
        }
        false
    }
}

/// Touches that go on from one another at times, forwards or backwards, so that windows grow.
fn touches() -> impl Strategy<Value = Vec<(u32, u64)>> {
    let run = (1..4u32, 0..1200u64, 1..40u64, any::<bool>());
    prop::collection::vec(run, 1..60).prop_map(|runs| {
        let touches = runs.into_iter().flat_map(|(space, first, length, up)| {
            (0..length).map(move |k| {
                let page = if up { first + k } else { (first + length) - k };
                (space, page)
            })
        });
        touches.collect()
    })
}

proptest! {
    #[test]
    fn the_ghost_is_its_twin(
        touches in touches(),
        cluster in 1..=4u32,
        slots in any::<bool>(),
        horizon in 1..200u64,
    ) {
        let by = if slots { Neighbours::Slots } else { Neighbours::Addresses };
        let readahead = KernelReadahead { cluster, by, horizon };
        let mut ghost = Ghost::new(readahead);
        let mut twin = Twin { readahead, held: vec![], arrivals: 0, windows: vec![] };
        for (number, (space, page)) in touches.into_iter().enumerate() {
            let at = Location::new(Space(space), Page(page));
            let expected = twin.touched(at);
            prop_assert_eq!(ghost.touched(at, &mut Tier), expected, "touch {} of {:?}", number, at);
        }
    }
}
