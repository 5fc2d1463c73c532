//! Which page lies where in the swap areas: the inverse of the page tables, kept as they are read.
//!
//! The kernel says of a swapped page where its copy lies (pagemap: type and offset), but not of a
//! place who lies there. So the page tables are read round and round, a slice at a time, and every
//! page whose place has changed is noted both ways. A page that came back into memory keeps its
//! place here: the kernel mostly keeps the copy, and its neighbours are still its neighbours.

use rustc_hash::FxHashMap;
use terrace_policy::{Location, Slot, Space};

/// Places, by page and by place.
#[derive(Default)]
pub struct Slots {
    of: FxHashMap<Location, Slot>,
    at: FxHashMap<Slot, Location>,
}

/// A pagemap entry's swap type (5 bits) and offset (50 bits).
const TYPE: u64 = 0x1f;
const OFFSET_SHIFT: u32 = 5;
const OFFSET: u64 = (1 << 50) - 1;
/// Types are so far apart as places.
const TYPE_SHIFT: u32 = 56;

impl Slots {
    /// The place that the pagemap entry of a swapped page names.
    pub fn named(entry: u64) -> Slot {
        let offset = entry >> OFFSET_SHIFT & OFFSET;
        Slot((entry & TYPE) << TYPE_SHIFT | offset)
    }

    /// A page lies in a place.
    pub fn note(&mut self, at: Location, slot: Slot) {
        match self.of.insert(at, slot) {
            Some(before) if before == slot => return,
            Some(before) if self.at.get(&before) == Some(&at) => {
                self.at.remove(&before);
            }
            _ => {}
        }
        if let Some(other) = self.at.insert(slot, at)
            && other != at
        {
            self.of.remove(&other);
        }
    }

    /// The place of a page, or where it was last.
    pub fn slot(&self, at: Location) -> Option<Slot> {
        self.of.get(&at).copied()
    }

    /// The page in a place.
    pub fn page_in(&self, slot: Slot) -> Option<Location> {
        self.at.get(&slot).copied()
    }

    /// The process has ended.
    pub fn forget(&mut self, space: Space) {
        self.of.retain(|at, _| at.space != space);
        self.at.retain(|_, at| at.space != space);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
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
    }

    proptest! {
        /// Both directions say the same, whatever was noted.
        #[test]
        fn both_ways_agree(notes in proptest::collection::vec((0..20u64, 0..20u64), 1..200)) {
            let mut slots = Slots::default();
            for (at, slot) in notes {
                slots.note(page(at), Slot(slot));
                prop_assert_eq!(slots.slot(page(at)), Some(Slot(slot)));
                prop_assert_eq!(slots.of.len(), slots.at.len());
                for (at, slot) in &slots.of {
                    prop_assert_eq!(slots.page_in(*slot), Some(*at));
                }
            }
        }
    }
}
