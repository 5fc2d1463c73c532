//! A ghost: what is known of the last pages that were looked at, up to a number of them.

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

use crate::list::{Links, List};

/// Up to a number of pages with a value each. The page that was noted longest ago is forgotten
/// first.
pub(super) struct Ghost<V> {
    most: usize,
    /// Places of pages in `entries`.
    places: HashTable<u32>,
    entries: Vec<(u64, V)>,
    /// Places in use, the page noted last at the front.
    order: List,
    links: Links,
    /// Places that are free again.
    free: Vec<u32>,
}

impl<V: Copy> Ghost<V> {
    /// Makes one of so many pages, at least one.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most: most.clamp(1, u32::MAX as usize - 1),
            places: HashTable::new(),
            entries: Vec::new(),
            order: List::default(),
            links: Links::default(),
            free: Vec::new(),
        }
    }

    /// Returns what is known of a page.
    pub(super) fn get(&self, page: u64) -> Option<V> {
        let same = |place: &u32| self.entries[*place as usize].0 == page;
        let place = self.places.find(hash(page), same)?;
        Some(self.entries[*place as usize].1)
    }

    /// Notes a page, which is the last to be forgotten then.
    pub(super) fn note(&mut self, page: u64, value: V) {
        self.forget(page);
        if self.order.len() == self.most
            && let Some(oldest) = self.order.back()
        {
            self.forget(self.entries[oldest as usize].0);
        }
        let place = self.free.pop().unwrap_or(self.entries.len() as u32);
        match self.entries.get_mut(place as usize) {
            Some(entry) => *entry = (page, value),
            None => self.entries.push((page, value)),
        }
        self.order.push_front(&mut self.links, place);
        let entries = &self.entries;
        let again = |place: &u32| hash(entries[*place as usize].0);
        self.places.insert_unique(hash(page), place, again);
    }

    /// Forgets a page, if it is known.
    pub(super) fn forget(&mut self, page: u64) {
        let entries = &self.entries;
        let same = |place: &u32| entries[*place as usize].0 == page;
        if let Ok(found) = self.places.find_entry(hash(page), same) {
            let (place, _) = found.remove();
            self.order.remove(&mut self.links, place);
            self.free.push(place);
        }
    }
}

fn hash(page: u64) -> u64 {
    FxBuildHasher.hash_one(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Note(u64, u8),
        Forget(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..30_u64, any::<u8>()).prop_map(|(page, value)| Step::Note(page, value)),
            1 => (0..30_u64).prop_map(Step::Forget),
        ]
    }

    proptest! {
        /// A list that is searched from end to end is the twin.
        #[test]
        fn the_last_pages_are_known(most in 1..12_usize, steps in prop::collection::vec(step(), 0..200)) {
            let mut ghost = Ghost::new(most);
            let mut slow: Vec<(u64, u8)> = Vec::new();
            for step in steps {
                let (Step::Note(page, _) | Step::Forget(page)) = step;
                slow.retain(|(other, _)| *other != page);
                match step {
                    Step::Note(page, value) => {
                        ghost.note(page, value);
                        slow.push((page, value));
                    }
                    Step::Forget(page) => ghost.forget(page),
                }
                slow = slow.split_off(slow.len().saturating_sub(most));
                for page in 0..30 {
                    let known = slow.iter().find(|(other, _)| *other == page);
                    prop_assert_eq!(ghost.get(page), known.map(|(_, value)| *value));
                }
                prop_assert!(ghost.entries.len() <= most, "places are used again");
            }
        }
    }
}
