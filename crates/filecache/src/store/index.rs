//! Which slot holds a page: 15 bytes a slot, whatever files the pages are of.
//!
//! A table of slots with linear probing, four fifths full at most, takes 5 bytes a slot. Beside it
//! lie, by slot, 32 bits of the hash of its page's key and 48 bits of the checksum of its page.
//! Keys themselves are on flash alone: two pages whose keys have the same 32 bits count as one
//! here, so that the later takes the place of the earlier, and the checksum, which covers the key,
//! tells which one a slot holds.

/// 32 bits of the hash of a page's key.
pub(super) type Tag = u32;

/// No slot.
const NONE: u32 = u32::MAX;

/// Whether two checksums are the same, as far as the index knows them.
pub(super) fn same(one: u64, other: u64) -> bool {
    one << 16 == other << 16
}

/// The slots of a store by the tags of their pages.
pub(super) struct Index {
    table: Vec<u32>,
    tags: Vec<Tag>,
    sums_low: Vec<u32>,
    sums_high: Vec<u16>,
    /// A bit each: whether the slot is in the table.
    held: Vec<u64>,
    /// A bit each: whether the page was read since it came.
    used: Vec<u64>,
    /// A bit each: whether the page stays when its segment is emptied.
    pinned: Vec<u64>,
    pages: usize,
    pinned_pages: u64,
}

impl Index {
    pub fn new(slots: u32) -> Self {
        let slots = slots as usize;
        Self {
            table: vec![NONE; slots + slots / 4 + 1],
            tags: vec![0; slots],
            sums_low: vec![0; slots],
            sums_high: vec![0; slots],
            held: vec![0; slots.div_ceil(64)],
            used: vec![0; slots.div_ceil(64)],
            pinned: vec![0; slots.div_ceil(64)],
            pages: 0,
            pinned_pages: 0,
        }
    }

    /// Returns the number of pages.
    pub fn len(&self) -> usize {
        self.pages
    }

    /// Returns the bytes in DRAM.
    pub fn bytes(&self) -> usize {
        let slots = self.tags.len();
        4 * self.table.len()
            + (4 + 4 + 2) * slots
            + 8 * (self.held.len() + self.used.len() + self.pinned.len())
    }

    /// Returns the slot of the page with this tag.
    pub fn get(&self, tag: Tag) -> Option<u32> {
        let at = self.find(tag);
        (self.table[at] != NONE).then_some(self.table[at])
    }

    /// Puts a page into a free slot, in place of a page with the same tag.
    pub fn insert(&mut self, tag: Tag, slot: u32, sum: u64) {
        self.remove(tag);
        let at = self.find(tag);
        self.table[at] = slot;
        let slot = slot as usize;
        self.tags[slot] = tag;
        self.sums_low[slot] = sum as u32;
        self.sums_high[slot] = (sum >> 32) as u16;
        self.held[slot / 64] |= 1 << (slot % 64);
        self.used[slot / 64] &= !(1 << (slot % 64));
        self.pages += 1;
    }

    /// Removes the page with this tag, and returns whether there was one.
    pub fn remove(&mut self, tag: Tag) -> bool {
        let mut hole = self.find(tag);
        let slot = self.table[hole];
        if slot == NONE {
            return false;
        }
        self.pin(slot, false);
        self.held[slot as usize / 64] &= !(1 << (slot % 64));
        self.pages -= 1;
        // Pages behind the hole move up, but none before its home.
        let mut next = self.after(hole);
        while self.table[next] != NONE {
            let home = self.home(self.tags[self.table[next] as usize]);
            if self.distance(home, next) >= self.distance(hole, next) {
                self.table[hole] = self.table[next];
                hole = next;
            }
            next = self.after(next);
        }
        self.table[hole] = NONE;
        true
    }

    /// Removes the page of a slot, and returns whether there was one.
    pub fn vacate(&mut self, slot: u32) -> bool {
        self.holds(slot) && self.remove(self.tags[slot as usize])
    }

    /// Whether a slot holds a page.
    pub fn holds(&self, slot: u32) -> bool {
        self.held[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// Returns the lower 48 bits of the checksum of a slot's page.
    pub fn sum(&self, slot: u32) -> u64 {
        let slot = slot as usize;
        u64::from(self.sums_high[slot]) << 32 | u64::from(self.sums_low[slot])
    }

    /// Marks the page of a slot as used.
    pub fn touch(&mut self, slot: u32) {
        self.used[slot as usize / 64] |= 1 << (slot % 64);
    }

    /// Whether the page of a slot was used.
    pub fn is_used(&self, slot: u32) -> bool {
        self.used[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// Has the page of a slot stay when its segment is emptied, or not any more.
    pub fn pin(&mut self, slot: u32, stays: bool) {
        if self.is_pinned(slot) != stays && self.holds(slot) {
            self.pinned[slot as usize / 64] ^= 1 << (slot % 64);
            match stays {
                true => self.pinned_pages += 1,
                false => self.pinned_pages -= 1,
            }
        }
    }

    /// Whether the page of a slot stays when its segment is emptied.
    pub fn is_pinned(&self, slot: u32) -> bool {
        self.pinned[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// Returns the number of pages that stay.
    pub fn pinned(&self) -> u64 {
        self.pinned_pages
    }

    /// Returns the index of a store of so many slots, with the pages whose slots are among them.
    pub fn resized(&self, slots: u32) -> Self {
        let mut resized = Self::new(slots);
        for slot in (0..slots.min(self.tags.len() as u32)).filter(|slot| self.holds(*slot)) {
            resized.insert(self.tags[slot as usize], slot, self.sum(slot));
            if self.is_used(slot) {
                resized.touch(slot);
            }
            resized.pin(slot, self.is_pinned(slot));
        }
        resized
    }

    /// Returns where the tag is in the table, or the free place where it belongs.
    fn find(&self, tag: Tag) -> usize {
        let mut at = self.home(tag);
        while self.table[at] != NONE && self.tags[self.table[at] as usize] != tag {
            at = self.after(at);
        }
        at
    }

    fn home(&self, tag: Tag) -> usize {
        ((u64::from(tag) * self.table.len() as u64) >> 32) as usize
    }

    fn after(&self, at: usize) -> usize {
        if at + 1 == self.table.len() {
            0
        } else {
            at + 1
        }
    }

    /// Returns the steps from one place to another.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from {
            to - from
        } else {
            to + self.table.len() - from
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const SLOTS: u32 = 24;

    #[test]
    fn a_page_takes_at_most_16_bytes() {
        let index = Index::new(1_000_000);
        let bytes = index.bytes() as f64 / 1e6;
        assert!(bytes <= 16.0, "{bytes}");
    }

    #[derive(Clone, Debug)]
    enum Act {
        Insert(Tag),
        Remove(Tag),
        Vacate(u32),
        Touch(u32),
        Pin(u32, bool),
        Resize(u32),
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        // Tags that share their homes, at both ends of the table.
        let tag = prop_oneof![0..6u32, (u32::MAX - 6)..=u32::MAX, any::<u32>()];
        let act = prop_oneof![
            4 => tag.clone().prop_map(Act::Insert),
            2 => tag.prop_map(Act::Remove),
            1 => (0..SLOTS).prop_map(Act::Vacate),
            1 => (0..SLOTS).prop_map(Act::Touch),
            1 => (0..SLOTS, any::<bool>()).prop_map(|(slot, stays)| Act::Pin(slot, stays)),
            1 => (1..=SLOTS).prop_map(Act::Resize),
        ];
        prop::collection::vec(act, 0..200)
    }

    proptest! {
        /// The twin is a map of the standard library, by tag.
        #[test]
        fn agrees_with_a_map(acts in acts()) {
            let mut index = Index::new(SLOTS);
            let mut twin: BTreeMap<Tag, (u32, u64, bool, bool)> = BTreeMap::new();
            let mut slots = SLOTS;
            for (sum, act) in (1_u64 << 40..).zip(acts) {
                match act {
                    Act::Insert(tag) => {
                        let free = (0..slots).find(|slot| !twin.values().any(|held| held.0 == *slot));
                        let Some(slot) = free else { continue };
                        index.insert(tag, slot, sum);
                        twin.insert(tag, (slot, sum, false, false));
                    }
                    Act::Remove(tag) => prop_assert_eq!(index.remove(tag), twin.remove(&tag).is_some()),
                    Act::Vacate(slot) | Act::Touch(slot) | Act::Pin(slot, _) if slot >= slots => {}
                    Act::Vacate(slot) => {
                        let tag = twin.iter().find(|(_, held)| held.0 == slot).map(|(tag, _)| *tag);
                        prop_assert_eq!(index.vacate(slot), tag.is_some());
                        tag.map(|tag| twin.remove(&tag));
                    }
                    Act::Touch(slot) => {
                        if let Some(held) = twin.values_mut().find(|held| held.0 == slot) {
                            index.touch(slot);
                            held.2 = true;
                        }
                    }
                    Act::Pin(slot, stays) => {
                        index.pin(slot, stays);
                        if let Some(held) = twin.values_mut().find(|held| held.0 == slot) {
                            held.3 = stays;
                        }
                    }
                    Act::Resize(to) => {
                        slots = to;
                        index = index.resized(to);
                        twin.retain(|_, held| held.0 < to);
                    }
                }
                prop_assert_eq!(index.len(), twin.len());
                let pinned = twin.values().filter(|held| held.3).count();
                prop_assert_eq!(index.pinned(), pinned as u64);
                for (tag, (slot, sum, used, stays)) in &twin {
                    prop_assert_eq!(index.is_pinned(*slot), *stays);
                    prop_assert_eq!(index.get(*tag), Some(*slot));
                    prop_assert_eq!(index.sum(*slot), *sum);
                    prop_assert_eq!(index.is_used(*slot), *used);
                }
            }
        }
    }
}
