//! The kernel's readahead: what a fault reads beside its own page.

use rustc_hash::FxHashMap;
use terrace_base::Nanos;
use terrace_device::Class;
use terrace_policy::prefetch::{Neighbours, Window};
use terrace_policy::replacement::PageId;
use terrace_policy::{Location, Memory, Page, Residence, Space};

use super::super::settings::{Around, Prefetch};
use super::super::store::{Flags, Store};
use super::Simulation;
use super::traffic::view;
use crate::intern::PageTable;

/// Pages of an area of addresses with a window of its own, as a power of two: 1 GiB. The kernel has
/// a window for each mapping, and traces do not say where mappings end. Heap, stack and mapped
/// memory are further apart.
const AREA: u32 = 18;

/// The windows of readahead.
pub(super) struct Readahead {
    around: Around,
    cluster: u32,
    /// Windows of areas of addresses; one for all places of the swap area.
    windows: FxHashMap<(Space, u64), Window>,
}

impl Readahead {
    /// Returns the readahead of a machine, if it has one.
    pub(super) fn of(prefetch: &Prefetch) -> Option<Self> {
        match *prefetch {
            Prefetch::Readahead { around, cluster } => Some(Self {
                around,
                cluster,
                windows: FxHashMap::default(),
            }),
            Prefetch::Off | Prefetch::Predictor(_) => None,
        }
    }

    /// Notes the first touch of a page that was read ahead.
    pub(super) fn hit(&mut self, at: Location) {
        let (key, by) = match self.around {
            Around::Addresses => (area(at), Neighbours::Addresses),
            Around::Slots => (EVERYWHERE, Neighbours::Slots),
            Around::Block => return,
        };
        self.windows.entry(key).or_default().hit(at.page.0, by);
    }

    /// Returns the pages to be read at a fault on a page, in their order, that page included.
    fn read(&mut self, page: PageId, store: &Store, pages: &PageTable) -> Vec<PageId> {
        // A page of a file is not read from the swap area.
        let Some(slot) = store.slot(page) else {
            return vec![page];
        };
        match self.around {
            Around::Block => store.neighbours(page, self.cluster),
            Around::Slots => {
                let window = self.windows.entry(EVERYWHERE).or_default();
                let slots = window.read(slot, Neighbours::Slots, self.cluster);
                slots.filter_map(|slot| store.page_in(slot)).collect()
            }
            Around::Addresses => {
                let at = pages.location(page);
                let window = self.windows.entry(area(at)).or_default();
                let numbers = window.read(at.page.0, Neighbours::Addresses, self.cluster);
                let found = numbers.filter_map(|number| {
                    pages.find(Location {
                        page: Page(number),
                        ..at
                    })
                });
                found.filter(|page| store.slot(*page).is_some()).collect()
            }
        }
    }
}

/// The window of all places of the swap area.
const EVERYWHERE: (Space, u64) = (Space(0), 0);

/// Returns the area of addresses that a page is in.
fn area(at: Location) -> (Space, u64) {
    (at.space, at.page.0 >> AREA)
}

impl Simulation {
    /// Reads what the kernel reads around a page, in its order; the page itself if it `is_read`.
    pub(super) fn read_around(
        &mut self,
        page: PageId,
        is_read: bool,
        now: Nanos,
        pages: &PageTable,
    ) {
        let Some(readahead) = &mut self.readahead else {
            return;
        };
        for neighbour in readahead.read(page, &self.store, pages) {
            if neighbour == page {
                if is_read {
                    self.read(page, Class::Demand, now);
                }
                continue;
            }
            self.story.predicted += 1;
            let residence =
                view(&self.store, &*self.replacement, pages).residence(pages.location(neighbour));
            let ahead = self.store.flags(neighbour).any(Flags::AHEAD);
            if residence != Residence::InTier || ahead || self.is_in_middle(neighbour) {
                self.story.filtered += 1;
            } else if self.is_over_full() {
                self.story.wiped += 1;
            } else {
                self.read_ahead(neighbour, Class::Demand, now, pages);
            }
        }
    }
}
