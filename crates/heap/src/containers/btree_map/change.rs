//! Changes of a tree, over any sink.
//!
//! A full node is split in half, or at its end if entries arrive there. An empty node is freed, and
//! nodes are never merged before: they are 39 % full where as many entries go as come, more than 62
//! % where 5 % more come, and change far less often than if they were merged (Johnson and Shasha:
//! B-trees with inserts and deletes: why free-at-empty is better than merge-at-half, JCSS 47(1),
//! 1993).

use crate::allocator::class::{class_of, slot_of};
use crate::error::{Error, Result, ensure};
use crate::medium::WORD_BYTES;
use crate::sink::{Contents, Sink};

use super::super::apart::Stored;
use super::super::data::{Key, Value};
use super::super::emptying::{Emptying, Progress, STEP};
use super::layout::{
    HEAD_BYTES, HEAD_WORDS, Head, MAX_INLINE, MAX_KEY, Root, SLOTS, Slot, damaged, root_at,
};
use super::node::{Entry, Path, Side};
use super::sums::{CHECK_BYTES, checked_words, entry_check};
use super::tree::Tree;

/// A node has room for 14 entries of the average length of those it was made of, and at most this
/// many bytes unless its entries need more.
const USUAL_BYTES: u64 = 8 << 10;

/// The result of adding an entry to a node.
enum Added {
    /// The entry was added to the node.
    There,
    /// A new node replaces the node, with the entry.
    Rebuilt(u64),
    /// The upper entries are in a new node, to which `right` points; the lower ones are in another,
    /// `left`, or still in the old one.
    Split { left: Option<u64>, right: Entry },
}

impl Tree {
    /// Sets the value of a key; returns the old value.
    ///
    /// # Errors
    ///
    /// The key is too long; the pool is full, the tree is damaged, or a fence failed.
    pub fn insert<K: Key + ?Sized, V: Value + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<V::Owned>> {
        ensure(key.len() as u64 <= MAX_KEY, || {
            Error::usage(format!(
                "a key of an ordered map has at most {MAX_KEY} bytes, not {}",
                key.len()
            ))
        })?;
        let Some(path) = self.descend::<K>(sink, Side::Of(key))? else {
            let entry = self.entry(sink, key, value)?;
            let node = self.make_node(sink, 0, &[entry])?;
            self.set_root(sink, Root { node, levels: 0 })?;
            return Ok(None);
        };
        let leaf = &path.node;
        match self.find::<K>(sink, leaf, key)? {
            Err(place) => {
                let entry = self.entry(sink, key, value)?;
                self.add::<K, S>(sink, path, place, entry)?;
                Ok(None)
            }
            Ok(place) => {
                let stored = self.stored(sink, leaf, leaf.entry(place))?;
                let old = stored.read::<V>(sink)?;
                if !stored.is_apart() && stored.len == value.len() as u64 {
                    self.seal_value(sink, leaf, leaf.entry(place), value)?;
                    sink.write_bytes(stored.at, value)?;
                    return Ok(Some(old));
                }
                stored.free(sink)?;
                let entry = self.entry(sink, key, value)?;
                self.replace(sink, path, place, entry)?;
                Ok(Some(old))
            }
        }
    }

    /// Makes an entry, and stores its value apart if it is long.
    pub fn entry<S: Sink>(&self, sink: &mut S, key: &[u8], value: &[u8]) -> Result<Entry> {
        let apart = value.len() as u64 > MAX_INLINE;
        let value = match apart {
            false => value.to_vec(),
            true => {
                let at = Stored::store(sink, value, self.part)?;
                bytemuck::cast_slice(&[at, value.len() as u64]).to_vec()
            }
        };
        let key = key.to_vec();
        Ok(Entry { key, value, apart })
    }

    /// Writes an entry to a free part of its node; returns its slot, if there is room.
    fn fill<S: Sink>(&self, sink: &mut S, node: &Head, entry: &Entry) -> Result<Option<usize>> {
        let at = node.room_at() + self.check_bytes();
        let slot = node.order.free_slot();
        let Some(slot) = slot.filter(|_| at + entry.bytes() <= node.bytes) else {
            return Ok(None);
        };
        let (place, of) = (node.at + at, slot_of_entry(slot, at, entry));
        let check = match self.checked {
            false => [0; 8],
            true => entry_check(place, of, &entry.key, &entry.value).to_le_bytes(),
        };
        let parts: &[&[u8]] = &[&check, &entry.key, &entry.value];
        let (place, parts) = match self.checked {
            false => (place, &parts[1..]),
            true => (place - CHECK_BYTES, parts),
        };
        let free = self.is_free(sink, node, place)?;
        sink.fill(place, parts, free)?;
        sink.set(node.slot_at(slot), of.encode())?;
        Ok(Some(slot))
    }

    /// Returns whether a node has no entry from an offset on, also without the changes of the sink.
    #[inline]
    fn is_free<S: Sink>(&self, sink: &S, node: &Head, from: u64) -> Result<bool> {
        if !sink.is_changed_near(node.at, HEAD_BYTES) {
            return Ok(true);
        }
        let words = sink.pool().load_words::<HEAD_WORDS>(node.at);
        let before = Head::decode(node.at, node.level, &words);
        Ok(before.is_ok_and(|before| node.at + before.room_at() <= from))
    }

    /// Replaces an entry of a leaf by one with the same key.
    fn replace<S: Sink>(&self, sink: &mut S, path: Path, place: usize, entry: Entry) -> Result<()> {
        let leaf = &path.node;
        if let Some(slot) = self.fill(sink, leaf, &entry)? {
            return self.set_order(sink, leaf, leaf.order.without(place).with(place, slot));
        }
        let mut entries = self.entries(sink, leaf)?;
        entries[place] = entry;
        let node = self.make_node(sink, 0, &entries)?;
        self.exchange(sink, &path, node)
    }

    /// Adds an entry to a leaf, and splits nodes up to the root where they are full.
    fn add<K: Key + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        mut path: Path,
        mut place: usize,
        mut entry: Entry,
    ) -> Result<()> {
        loop {
            match self.add_to::<K, S>(sink, &path.node, place, entry)? {
                Added::There => return Ok(()),
                Added::Rebuilt(new) => return self.exchange(sink, &path, new),
                Added::Split { left, right } => {
                    if let Some(left) = left {
                        self.exchange(sink, &path, left)?;
                    }
                    entry = right;
                    let Some((above, child)) = path.steps.pop() else {
                        let Head { at, level, .. } = path.node;
                        return self.add_level(sink, level, left.unwrap_or(at), entry);
                    };
                    // Its pointer to the left node may have changed.
                    path.node = self.head(sink, above.at, above.level)?;
                    place = child + 1;
                }
            }
        }
    }

    /// Adds an entry to one node.
    fn add_to<K: Key + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        node: &Head,
        place: usize,
        entry: Entry,
    ) -> Result<Added> {
        if let Some(slot) = self.fill(sink, node, &entry)? {
            self.set_order(sink, node, node.order.with(place, slot))?;
            return Ok(Added::There);
        }
        let mut entries = self.entries(sink, node)?;
        let at_end = place == entries.len();
        entries.insert(place, entry);
        let used = node.used() + node.order.len() as u64 * self.check_bytes();
        if entries.len() <= SLOTS && used <= (node.bytes - HEAD_BYTES) / 2 {
            // Most of the node's bytes belong to removed entries.
            let new = self.make_node(sink, node.level, &entries)?;
            return Ok(Added::Rebuilt(new));
        }
        let middle = match at_end {
            true => place,
            false => entries.len() / 2,
        };
        let mut upper = entries.split_off(middle);
        let between = match node.level {
            0 => separator::<K>(&entries[middle - 1].key, &upper[0].key),
            // The first entry of an inner node has no key of its own.
            _ => std::mem::take(&mut upper[0].key),
        };
        let right = self.make_node(sink, node.level, &upper)?;
        let left = match place < middle {
            // The new entry is in the lower half, which has no room for it.
            true => Some(self.make_node(sink, node.level, &entries)?),
            false => {
                if middle < node.order.len() {
                    self.set_order(sink, node, node.order.first(middle))?;
                }
                None
            }
        };
        let right = Entry::pointer(between, right);
        Ok(Added::Split { left, right })
    }

    /// Replaces the node of a path by a new one, and frees the old one.
    fn exchange<S: Sink>(&self, sink: &mut S, path: &Path, node: u64) -> Result<()> {
        self.point_to(sink, path, node)?;
        sink.free(path.node.at)
    }

    /// Has the pointer to the node of a path point to another one.
    pub fn point_to<S: Sink>(&self, sink: &mut S, path: &Path, node: u64) -> Result<()> {
        let levels = path.node.level.into();
        match path.steps.last() {
            Some((above, child)) => self.set_child(sink, above, *child, node),
            None => self.set_root(sink, Root { node, levels }),
        }
    }

    /// Has the entry of an inner node point to another child.
    pub fn set_child<S: Sink>(
        &self,
        sink: &mut S,
        above: &Head,
        child: usize,
        node: u64,
    ) -> Result<()> {
        self.seal_value(sink, above, above.entry(child), &node.to_le_bytes())?;
        sink.set(self.child_at(above, child), node)
    }

    /// Makes a new root above the old one, which was split.
    fn add_level<S: Sink>(&self, sink: &mut S, level: u8, left: u64, right: Entry) -> Result<()> {
        let left = Entry::pointer(Vec::new(), left);
        let node = self.make_node(sink, level + 1, &[left, right])?;
        let levels = u16::from(level) + 1;
        self.set_root(sink, Root { node, levels })
    }

    /// Makes a node of at most 14 entries.
    pub fn make_node<S: Sink>(&self, sink: &mut S, level: u8, entries: &[Entry]) -> Result<u64> {
        let check = self.check_bytes();
        let used: u64 = entries.iter().map(|entry| entry.bytes() + check).sum();
        let usual = (used / entries.len().max(1) as u64 * SLOTS as u64).min(USUAL_BYTES);
        let bytes = HEAD_BYTES + usual.max(used);
        let bytes = match self.classes.of(bytes) {
            Some(_) => slot_of(class_of(bytes)),
            None => bytes.next_multiple_of(16),
        };
        let mut at = HEAD_BYTES;
        let mut slots = Vec::with_capacity(entries.len());
        for entry in entries {
            let slot = slot_of_entry(slots.len(), at + check, entry);
            at = slot.end();
            slots.push(slot);
        }
        let head = Head::encode(level, bytes, &slots);
        if self.checked {
            let words = |at| checked_words(Head::new(at, level, bytes, &slots), &slots, entries);
            return sink.make(&Contents::Placed(bytes, &words));
        }
        let zeros = vec![0; (bytes - at) as usize];
        let mut parts: Vec<&[u8]> = vec![bytemuck::cast_slice(&head)];
        for entry in entries {
            parts.extend([&entry.key[..], &entry.value[..]]);
        }
        parts.push(&zeros);
        sink.make(&Contents::Parts(&parts))
    }

    /// Removes a key and returns its value.
    ///
    /// # Errors
    ///
    /// The tree is damaged, or a fence failed.
    pub fn remove<K: Key + ?Sized, V: Value + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        key: &[u8],
    ) -> Result<Option<V::Owned>> {
        let Some(path) = self.descend::<K>(sink, Side::Of(key))? else {
            return Ok(None);
        };
        let leaf = &path.node;
        let Ok(entry) = self.find::<K>(sink, leaf, key)? else {
            return Ok(None);
        };
        self.take::<V, S>(sink, path, entry).map(Some)
    }

    /// Removes the entry with the smallest key or the largest, and returns it.
    ///
    /// # Errors
    ///
    /// The tree is damaged, or a fence failed.
    pub fn pop<K: Key + ?Sized, V: Value + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        side: Side,
    ) -> Result<Option<(K::Owned, V::Owned)>> {
        let Some(path) = self.descend::<K>(sink, side)? else {
            return Ok(None);
        };
        let entry = match side {
            Side::Last => path.node.order.len() - 1,
            _ => 0,
        };
        let key = self.key_of(sink, &path.node, entry)?;
        let key = K::read(key.len(), |into| {
            let same = into.len() == key.len();
            ensure(same, || damaged(path.node.at))?;
            into.copy_from_slice(&key);
            Ok(())
        })?;
        let value = self.take::<V, S>(sink, path, entry)?;
        Ok(Some((key, value)))
    }

    /// Removes the entry of a leaf, and returns its value.
    fn take<V: Value + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        path: Path,
        entry: usize,
    ) -> Result<V::Owned> {
        let leaf = &path.node;
        let stored = self.stored(sink, leaf, leaf.entry(entry))?;
        let old = stored.read::<V>(sink)?;
        stored.free(sink)?;
        match leaf.order.len() {
            1 => self.remove_node(sink, path)?,
            _ => self.set_order(sink, leaf, leaf.order.without(entry))?,
        }
        Ok(old)
    }

    /// Removes the node at the end of a path, and the nodes above it that have no other child.
    fn remove_node<S: Sink>(&self, sink: &mut S, mut path: Path) -> Result<()> {
        sink.free(path.node.at)?;
        while let Some((above, child)) = path.steps.pop() {
            if above.order.len() == 1 {
                sink.free(above.at)?;
                continue;
            }
            self.set_order(sink, &above, above.order.without(child))?;
            return self.lower(sink);
        }
        self.set_root(sink, Root::default())
    }

    /// Removes roots with only one child.
    pub fn lower<S: Sink>(&self, sink: &mut S) -> Result<()> {
        let old = self.root(sink)?;
        let mut root = old;
        while root.levels > 0 {
            let head = self.head(sink, root.node, root.levels as u8)?;
            if head.order.len() > 1 {
                break;
            }
            sink.free(root.node)?;
            root = Root {
                node: self.child(sink, &head, 0)?,
                levels: root.levels - 1,
            };
        }
        if root != old {
            self.set_root(sink, root)?;
        }
        Ok(())
    }

    /// Stores the root.
    pub fn set_root<S: Sink>(&self, sink: &mut S, root: Root) -> Result<()> {
        if self.checked {
            self.seal_root(sink, root.encode())?;
        }
        sink.set(root_at(self.table), root.encode())
    }
}

impl Emptying for Tree {
    /// Removes leaves from the last one on.
    fn empty_some<S: Sink>(&self, sink: &mut S, _: &mut Progress) -> Result<bool> {
        let mut freed = 0;
        while freed < STEP {
            let Some(path) = self.descend::<[u8]>(sink, Side::Last)? else {
                return Ok(false);
            };
            let leaf = &path.node;
            ensure(leaf.is_sound(), || damaged(leaf.at))?;
            for entry in 0..leaf.order.len() {
                let stored = self.stored(sink, leaf, leaf.entry(entry))?;
                freed += stored.objects(sink)?.len();
                stored.free(sink)?;
            }
            freed += 1;
            self.remove_node(sink, path)?;
        }
        Ok(true)
    }

    fn shrink<S: Sink>(&self, _: &mut S) -> Result<()> {
        Ok(())
    }

    fn free_table<S: Sink>(&self, sink: &mut S) -> Result<()> {
        sink.free(self.table)
    }
}

/// Returns the slot with a number, of an entry that begins at byte `at` of its node.
fn slot_of_entry(number: usize, at: u64, entry: &Entry) -> Slot {
    Slot {
        number: number as u8,
        word: (at / WORD_BYTES) as u16,
        key_len: entry.key.len() as u16,
        value_len: entry.value.len() as u16,
        apart: entry.apart,
    }
}

/// Returns a key above `low` and not above `high`, as short as possible where the order is that of
/// bytes.
fn separator<K: Key + ?Sized>(low: &[u8], high: &[u8]) -> Vec<u8> {
    if !K::BYTEWISE {
        return high.to_vec();
    }
    let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    high[..high.len().min(same + 1)].to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::layout::Order;
    use super::*;

    #[test]
    fn a_separator_divides_and_is_short() {
        for (low, high, expected) in [
            ("abc", "abd", "abd"),
            ("a", "b", "b"),
            ("ab", "b", "b"),
            ("a", "abc", "ab"),
            ("", "x", "x"),
        ] {
            let between = separator::<str>(low.as_bytes(), high.as_bytes());
            assert_eq!(between, expected.as_bytes());
            assert!(low.as_bytes() < &between[..] && &between[..] <= high.as_bytes());
        }
        assert_eq!(separator::<u64>(&[1; 8], &[2; 8]), [2; 8]);
    }

    #[test]
    fn orders_of_new_nodes() {
        assert_eq!(Order::of(3).0, 0x2103);
    }
}
