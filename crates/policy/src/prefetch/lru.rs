//! A bounded map that evicts the least recently used entry.
//!
//! The entries lie in one array and are linked by their places in it; the index holds only places.
//! So no entry is allocated by itself, no key is stored twice, and the index of a large map stays
//! in the processor's cache.

use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// No place.
const NONE: u32 = u32::MAX;

/// The map. Inserting and [`Lru::touch`] count as use, peeking does not.
pub(super) struct Lru<K, V> {
    places: HashTable<u32>,
    entries: Vec<Entry<K, V>>,
    newest: u32,
    oldest: u32,
    capacity: usize,
}

struct Entry<K, V> {
    key: K,
    value: V,
    newer: u32,
    older: u32,
}

impl<K: Copy + Eq + Hash, V> Lru<K, V> {
    /// Makes an empty map of at most `capacity` entries, at least one.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            places: HashTable::new(),
            entries: Vec::new(),
            newest: NONE,
            oldest: NONE,
            capacity: capacity.clamp(1, NONE as usize),
        }
    }

    /// Returns the value of `key` without using it.
    pub(super) fn peek(&self, key: &K) -> Option<&V> {
        let place = self.place(key)?;
        Some(&self.entries[place as usize].value)
    }

    /// Returns the value of `key` to be changed, without using it.
    pub(super) fn peek_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.place(key)?;
        Some(&mut self.entries[place as usize].value)
    }

    /// Returns the value of `key` and makes it the newest.
    pub(super) fn touch(&mut self, key: &K) -> Option<&mut V> {
        let place = self.place(key)?;
        self.renew(place);
        Some(&mut self.entries[place as usize].value)
    }

    /// Returns the value of `key`, inserted by `make` if there is none, and makes it the newest.
    pub(super) fn touch_or_insert(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let place = match self.place(&key) {
            Some(place) => {
                self.renew(place);
                place
            }
            None => self.insert(key, make()),
        };
        &mut self.entries[place as usize].value
    }

    /// Keeps the entries that satisfy `keep`.
    pub(super) fn retain(&mut self, keep: impl Fn(&K, &V) -> bool) {
        // Goes from the back, so that the entry that takes the place of a removed one was checked
        // already.
        for place in (0..self.entries.len()).rev() {
            let entry = &self.entries[place];
            if !keep(&entry.key, &entry.value) {
                self.remove(place as u32);
            }
        }
    }

    fn place(&self, key: &K) -> Option<u32> {
        let is = |place: &u32| self.entries[*place as usize].key == *key;
        self.places.find(hash(key), is).copied()
    }

    /// Inserts an entry whose key is not in the map; returns its place.
    fn insert(&mut self, key: K, value: V) -> u32 {
        let place = if self.entries.len() < self.capacity {
            self.entries.push(Entry {
                key,
                value,
                newer: NONE,
                older: NONE,
            });
            (self.entries.len() - 1) as u32
        } else {
            let place = self.oldest;
            self.unlink(place);
            self.drop_from_index(place);
            let entry = &mut self.entries[place as usize];
            (entry.key, entry.value) = (key, value);
            place
        };
        self.link(place);
        let entries = &self.entries;
        let rehash = |place: &u32| hash(&entries[*place as usize].key);
        self.places.insert_unique(hash(&key), place, rehash);
        place
    }

    fn drop_from_index(&mut self, place: u32) {
        let hash = hash(&self.entries[place as usize].key);
        if let Ok(known) = self.places.find_entry(hash, |other| *other == place) {
            known.remove();
        }
    }

    fn renew(&mut self, place: u32) {
        if self.newest != place {
            self.unlink(place);
            self.link(place);
        }
    }

    /// Links an unlinked entry before the newest.
    fn link(&mut self, place: u32) {
        let entry = &mut self.entries[place as usize];
        (entry.newer, entry.older) = (NONE, self.newest);
        match self.newest {
            NONE => self.oldest = place,
            newest => self.entries[newest as usize].newer = place,
        }
        self.newest = place;
    }

    fn unlink(&mut self, place: u32) {
        let Entry { newer, older, .. } = self.entries[place as usize];
        self.set_older_of(newer, older);
        self.set_newer_of(older, newer);
    }

    fn set_older_of(&mut self, place: u32, older: u32) {
        match place {
            NONE => self.newest = older,
            place => self.entries[place as usize].older = older,
        }
    }

    fn set_newer_of(&mut self, place: u32, newer: u32) {
        match place {
            NONE => self.oldest = newer,
            place => self.entries[place as usize].newer = newer,
        }
    }

    /// Removes an entry; the last entry takes its place.
    fn remove(&mut self, place: u32) {
        self.unlink(place);
        self.drop_from_index(place);
        self.entries.swap_remove(place as usize);
        let last = self.entries.len() as u32;
        if let Some(&Entry {
            key, newer, older, ..
        }) = self.entries.get(place as usize)
        {
            self.set_older_of(newer, place);
            self.set_newer_of(older, place);
            let moved = self.places.find_mut(hash(&key), |other| *other == last);
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

    /// From the newest on.
    fn keys(lru: &Lru<u8, u32>) -> Vec<u8> {
        let mut keys = Vec::new();
        let mut place = lru.newest;
        while let Some(entry) = lru.entries.get(place as usize) {
            keys.push(entry.key);
            place = entry.older;
        }
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
