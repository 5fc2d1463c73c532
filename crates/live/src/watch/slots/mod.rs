//! The map of swap slots: which page lies where in the swap areas, built from the page tables.
//!
//! The kernel tells the place of a swapped page (pagemap: type and offset), but not the page of a
//! place. So the page tables are read in turn, a slice at a time, and each page whose place has
//! changed is recorded both ways. A page that came back into memory keeps its place here: the
//! kernel mostly keeps the copy, and its neighbours are still its neighbours.
//!
//! Programs are larger than the DRAM available here, and the steering thread, which fills the map,
//! must not stop: a place names its page in 8 bytes of an array (`places`), a page its place in 6
//! bytes of a short sorted leaf (`leaves`), and no long array is ever moved. The entries of an
//! ended process are cleared a few at a time (`tenants`).

mod leaves;
mod places;
mod tenants;
#[cfg(test)]
mod twin;

use terrace_policy::{Location, Slot, Space};

use places::{Holder, Places, TYPE_SHIFT};
use tenants::Tenants;

/// Places by page, and pages by place. A page and its place name each other, or neither does.
#[derive(Default)]
pub struct Slots {
    places: Places,
    tenants: Tenants,
}

/// Swap type (5 bits) and offset (50 bits) of a pagemap entry.
const TYPE: u64 = 0x1f;
const OFFSET_SHIFT: u32 = 5;
const OFFSET: u64 = (1 << 50) - 1;

impl Slots {
    /// Returns the place that the pagemap entry of a swapped page names.
    pub fn named(entry: u64) -> Slot {
        let offset = entry >> OFFSET_SHIFT & OFFSET;
        Slot((entry & TYPE) << TYPE_SHIFT | offset)
    }

    /// Returns the swap type of the area of a place, and the place's offset in it in pages.
    pub fn parts(slot: Slot) -> (u64, u64) {
        (slot.0 >> TYPE_SHIFT, slot.0 & OFFSET)
    }

    /// Records the place of a page. Ignores what is no place of a swap area, or no page of a
    /// program.
    pub fn note(&mut self, at: Location, slot: Slot) {
        let Some(tenant) = self.tenants.enter(at.space) else {
            return;
        };
        let Some(holder) = Holder::new(tenant, at.page) else {
            return;
        };
        let Some(cell) = self.places.enter(slot) else {
            return;
        };
        let other = self.places.holder(cell);
        if other == Some(holder) {
            return;
        }
        if let Some(other) = other {
            let leaves = self.tenants.leaves(other.tenant());
            leaves.remove(other.page());
        }
        let before = self.tenants.leaves(tenant).insert(at.page, cell);
        if let Some(before) = before {
            self.places.clear(before);
        }
        self.places.fill(cell, holder);
    }

    /// Returns the place of a page, or its last one.
    pub fn slot(&self, at: Location) -> Option<Slot> {
        let cell = self.tenants.of(at.space)?.get(at.page)?;
        Some(self.places.slot(cell))
    }

    /// Returns the page in a place.
    pub fn page_in(&self, slot: Slot) -> Option<Location> {
        let holder = self.places.holder(self.places.find(slot)?)?;
        let space = self.tenants.space(holder.tenant())?;
        Some(Location::new(space, holder.page()))
    }

    /// Forgets an ended process. Its pages have no place from now on; [`Slots::tidy`] has still to
    /// clear their entries.
    pub fn forget(&mut self, space: Space) {
        self.tenants.leave(space);
    }

    /// Clears about `pages` entries of processes that have ended.
    pub fn tidy(&mut self, pages: u64) {
        let mut left = pages;
        while left > 0
            && let Some((tenant, leaf)) = self.tenants.next_leaf()
        {
            left = left.saturating_sub(1 + leaf.len() as u64);
            for (page, cell) in leaf {
                if self.places.holder(cell) == Holder::new(tenant, page) {
                    self.places.clear(cell);
                }
            }
        }
    }

    /// Whether no place names a page.
    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use terrace_policy::Page;

    use super::*;

    fn page(page: u64) -> Location {
        Location::new(Space(1), Page(page))
    }

    /// Linux, Documentation/admin-guide/mm/pagemap.rst: bits 0 to 4 the type, 5 to 54 the offset.
    #[test]
    fn an_entry_names_type_and_offset() {
        let entry = 1 << 62 | 1 << 55 | 77 << 5 | 3;
        assert_eq!(Slots::named(entry), Slot(3 << 56 | 77));
        assert_eq!(Slots::parts(Slots::named(entry)), (3, 77));
    }

    #[test]
    fn a_page_that_moves_leaves_its_place() {
        let mut slots = Slots::default();
        slots.note(page(1), Slot(10));
        slots.note(page(1), Slot(11));
        assert_eq!(slots.page_in(Slot(10)), None);
        assert_eq!(slots.page_in(Slot(11)), Some(page(1)));
        slots.note(page(2), Slot(11));
        assert_eq!(slots.slot(page(1)), None);
        slots.forget(Space(1));
        assert_eq!(slots.slot(page(2)), None);
        assert_eq!(slots.page_in(Slot(11)), None);
    }

    #[test]
    fn a_number_that_is_used_again_begins_with_nothing() {
        let mut slots = Slots::default();
        slots.note(page(1), Slot(10));
        slots.forget(Space(1));
        // Nothing has been cleared yet.
        slots.note(page(2), Slot(11));
        assert_eq!(slots.slot(page(1)), None);
        assert_eq!(slots.page_in(Slot(10)), None);
        slots.tidy(u64::MAX);
        assert_eq!(slots.page_in(Slot(11)), Some(page(2)));
    }

    #[test]
    fn what_no_area_and_no_program_has_is_not_noted() {
        let mut slots = Slots::default();
        // An area's header counts its pages in 32 bits; the entry of a migrating page names its
        // frame.
        for (at, slot) in [(1, 1 << 32), (1 << 44, 1), (u64::MAX, 1), (1, u64::MAX)] {
            slots.note(page(at), Slot(slot));
            assert_eq!(slots.slot(page(at)), None);
            assert_eq!(slots.page_in(Slot(slot)), None);
        }
    }
}
