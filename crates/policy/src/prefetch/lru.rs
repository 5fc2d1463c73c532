//! A bounded map that evicts the least recently used entry.
//!
//! The entries lie in one array and are linked by their places in it; the index holds only places.
//! So no entry is allocated by itself, no key is stored twice, and the index of a large map stays
//! in the processor's cache.

use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::list::{Links, List};

/// The map. Inserting and [`Lru::touch`] count as use, peeking does not.
pub(super) struct Lru<K, V> {
    places: HashTable<u32>,
    entries: Vec<(K, V)>,
    /// Links of the places, the newest at the front.
    links: Links,
    order: List,
    capacity: usize,
}

impl<K: Copy + Eq + Hash, V> Lru<K, V> {
    /// Makes an empty map of at most `capacity` entries, at least one.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            places: HashTable::new(),
            entries: Vec::new(),
            links: Links::default(),
            order: List::default(),
            capacity: capacity.clamp(1, u32::MAX as usize),
        }
    }

    /// Returns the value of `key` without using it.
    pub(super) fn peek(&self, key: &K) -> Option<&V> {
        let place = self.place(key)?;
        Some(&self.entries[place as usize].1)
    }

    /// Returns the value of `key` to be changed, without using it.
    pub(super) fn peek_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.place(key)?;
        Some(&mut self.entries[place as usize].1)
    }

    /// Returns the value of `key` and makes it the newest.
    pub(super) fn touch(&mut self, key: &K) -> Option<&mut V> {
        let place = self.place(key)?;
        self.order.move_to_front(&mut self.links, place);
        Some(&mut self.entries[place as usize].1)
    }

    /// Returns the value of `key`, inserted by `make` if there is none, and makes it the newest.
    pub(super) fn touch_or_insert(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let place = match self.place(&key) {
            Some(place) => {
                self.order.move_to_front(&mut self.links, place);
                place
            }
            None => self.insert(key, make()),
        };
        &mut self.entries[place as usize].1
    }

    /// Keeps the entries that satisfy `keep`.
    pub(super) fn retain(&mut self, keep: impl Fn(&K, &V) -> bool) {
        // Goes from the back, so that the entry that takes the place of a removed one was checked
        // already.
        for place in (0..self.entries.len()).rev() {
            let (key, value) = &self.entries[place];
            if !keep(key, value) {
                self.remove(place as u32);
            }
        }
    }

    fn place(&self, key: &K) -> Option<u32> {
        let is = |place: &u32| self.entries[*place as usize].0 == *key;
        self.places.find(hash(key), is).copied()
    }

    /// Inserts an entry whose key is not in the map; returns its place.
    fn insert(&mut self, key: K, value: V) -> u32 {
        let place = match self.order.back() {
            Some(oldest) if self.entries.len() == self.capacity => {
                self.drop_from_index(oldest);
                self.entries[oldest as usize] = (key, value);
                self.order.move_to_front(&mut self.links, oldest);
                oldest
            }
            _ => {
                let place = self.entries.len() as u32;
                self.entries.push((key, value));
                self.order.push_front(&mut self.links, place);
                place
            }
        };
        let entries = &self.entries;
        let rehash = |place: &u32| hash(&entries[*place as usize].0);
        self.places.insert_unique(hash(&key), place, rehash);
        place
    }

    fn drop_from_index(&mut self, place: u32) {
        let hash = hash(&self.entries[place as usize].0);
        if let Ok(known) = self.places.find_entry(hash, |other| *other == place) {
            known.remove();
        }
    }

    /// Removes an entry; the last entry takes its place.
    fn remove(&mut self, place: u32) {
        self.drop_from_index(place);
        self.order.remove(&mut self.links, place);
        self.entries.swap_remove(place as usize);
        let last = self.entries.len() as u32;
        if let Some((key, _)) = self.entries.get(place as usize) {
            self.order.rename(&mut self.links, last, place);
            let moved = self.places.find_mut(hash(key), |other| *other == last);
            moved.into_iter().for_each(|known| *known = place);
        }
    }
}

fn hash(key: &impl Hash) -> u64 {
    FxBuildHasher.hash_one(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the keys, the newest first.
    fn keys(lru: &Lru<u8, u32>) -> Vec<u8> {
        let before = |place: &u32| lru.links.before(*place);
        let places = std::iter::successors(lru.order.back(), before);
        let mut keys: Vec<u8> = places.map(|place| lru.entries[place as usize].0).collect();
        keys.reverse();
        keys
    }

    #[test]
    fn the_least_recently_used_goes() {
        let mut lru = Lru::new(2);
        lru.touch_or_insert(1, || 10);
        lru.touch_or_insert(2, || 20);
        assert_eq!(lru.peek(&1), Some(&10));
        assert_eq!(lru.touch(&1), Some(&mut 10));
        lru.touch_or_insert(3, || 30);
        assert_eq!(lru.peek(&2), None);
        assert_eq!(keys(&lru), [3, 1]);
    }

    proptest! {
        /// A vector, the newest first, that is searched from end to end.
        #[test]
        fn like_a_vector(
            capacity in 1..8usize,
            steps in proptest::collection::vec((0..4u8, 0..12u8, any::<u32>()), 0..200),
        ) {
            let mut fast = Lru::new(capacity);
            let mut slow: Vec<(u8, u32)> = Vec::new();
            for (step, key, value) in steps {
                let place = slow.iter().position(|(known, _)| *known == key);
                match step {
                    0 => {
                        let known = place.map_or((key, value), |place| slow.remove(place));
                        slow.insert(0, known);
                        slow.truncate(capacity);
                        prop_assert_eq!(*fast.touch_or_insert(key, || value), known.1);
                    }
                    1 => {
                        let known = place.map(|place| slow.remove(place));
                        slow.splice(0..0, known);
                        prop_assert_eq!(fast.touch(&key).copied(), known.map(|known| known.1));
                    }
                    2 => {
                        let known = place.map(|place| slow[place].1);
                        prop_assert_eq!(fast.peek(&key).copied(), known);
                        prop_assert_eq!(fast.peek_mut(&key).copied(), known);
                    }
                    _ => {
                        slow.retain(|(known, _)| known % 3 != key % 3);
                        fast.retain(|known, _| known % 3 != key % 3);
                    }
                }
                let order: Vec<u8> = slow.iter().map(|(key, _)| *key).collect();
                prop_assert_eq!(keys(&fast), order);
                prop_assert_eq!(fast.places.len(), slow.len());
            }
        }
    }
}
