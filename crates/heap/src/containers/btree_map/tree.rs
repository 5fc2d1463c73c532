//! A tree: what all its handles share in DRAM, and what is changed, over any sink.
//!
//! A node that is full is split in half, or at its end if that is where entries come. One that is empty
//! goes, and none is merged before: nodes are 39 % full where as many entries go as come, more than 62 %
//! where 5 % more come, and change far less often than if they were merged (Johnson and Shasha: B-trees
//! with inserts and deletes: why free-at-empty is better than merge-at-half, JCSS 47(1), 1993).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::allocator::class::{Classes, class_of, slot_of};
use crate::error::{Error, Result};
use crate::guard::Guard;
use crate::heap::Heap;
use crate::layout::Geometry;
use crate::medium::{Medium, WORD_BYTES};
use crate::sink::{Contents, Sink, Source};
use crate::transaction::held::Guarded;

use super::super::apart::{Apart, part_bytes};
use super::super::data::{Key, Value, other_sizes};
use super::layout::{
    HEAD_BYTES, Head, MAGIC, MAX_INLINE, MAX_KEY, Root, SLOTS, Slot, TABLE_WORDS, damaged, root_at,
};
use super::node::{Entry, Path, Side};

/// A node has room for 14 entries as long as those that it was made of, and at most for so many bytes
/// unless it needs more.
const USUAL_BYTES: u64 = 8 << 10;

/// A tree.
pub(super) struct Tree {
    /// Offset of the table.
    pub table: u64,
    pub part: u64,
    classes: Classes,
    pub guard: Guard,
    /// Entries that there were when the heap was opened, once they have been counted.
    base: OnceLock<i64>,
    /// Counts changes, so that a cursor sees that what it has read is no longer the tree.
    changes: AtomicU64,
}

/// What became of a node to which an entry was added.
enum Added {
    /// It has the entry.
    There,
    /// A new node has it and all others.
    Rebuilt(u64),
    /// Some of its entries are in a new node, and its own in another if it was rebuilt.
    Split {
        left: Option<u64>,
        between: Vec<u8>,
        right: u64,
    },
}

impl Tree {
    /// The words of the table of a new tree.
    pub fn new_table(key_bytes: u32, value_bytes: u32) -> [u64; TABLE_WORDS] {
        let bytes = u64::from(key_bytes) | u64::from(value_bytes) << 32;
        [MAGIC, bytes, 0, 0, 0, 0, 0, 0]
    }

    /// The tree with a table.
    pub fn new(table: u64, geometry: &Geometry, guard: Guard) -> Self {
        Self {
            table,
            part: part_bytes(geometry),
            classes: Classes::new(geometry.chunk_bytes()),
            guard,
            base: OnceLock::new(),
            changes: AtomicU64::new(0),
        }
    }

    /// Whether the table is one, and of such keys and values.
    ///
    /// # Errors
    ///
    /// It is damaged, or of others.
    pub fn check(&self, source: &impl Source, name: &str, key: u32, value: u32) -> Result<()> {
        let words = source.words::<TABLE_WORDS>(self.table)?;
        if words[0] != MAGIC {
            return Err(Error::damaged("a B-tree's table is damaged"));
        }
        match (words[1] as u32, (words[1] >> 32) as u32) == (key, value) {
            true => Ok(()),
            false => Err(of_others(name, words[1])),
        }
    }

    /// How often the tree was changed.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Counts a change. The guard is held.
    pub fn touch(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// The value of a key.
    ///
    /// # Errors
    ///
    /// The tree is damaged.
    #[inline]
    pub fn get<K: Key + ?Sized, V: Value + ?Sized>(
        &self,
        source: &impl Source,
        key: &[u8],
    ) -> Result<Option<V::Owned>> {
        let Some(leaf) = self.leaf_of::<K>(source, key)? else {
            return Ok(None);
        };
        match self.find::<K>(source, &leaf, key)? {
            Ok(entry) => self.value::<V>(source, &leaf, entry).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Whether there is a value for a key.
    ///
    /// # Errors
    ///
    /// The tree is damaged.
    pub fn contains<K: Key + ?Sized>(&self, source: &impl Source, key: &[u8]) -> Result<bool> {
        match self.leaf_of::<K>(source, key)? {
            Some(leaf) => Ok(self.find::<K>(source, &leaf, key)?.is_ok()),
            None => Ok(false),
        }
    }

    /// The value of an entry.
    ///
    /// # Errors
    ///
    /// The node is damaged, or it is no such value.
    #[inline]
    pub fn value<V: Value + ?Sized>(
        &self,
        source: &impl Source,
        leaf: &Head,
        entry: usize,
    ) -> Result<V::Owned> {
        let slot = leaf.entry(entry);
        match self.apart(source, leaf, slot)? {
            Some(apart) => V::read(apart.len as usize, |into| apart.load(source, into)),
            None => V::read(slot.value_len.into(), |into| {
                let len = into.len().min(slot.value_len.into());
                source.load_bytes(leaf.at + slot.value_at(), &mut into[..len])
            }),
        }
    }

    /// Gives a key a value; says which one it had.
    ///
    /// # Errors
    ///
    /// The key is too long; there is no room, the tree is damaged, or a fence failed.
    pub fn insert<K: Key + ?Sized, V: Value + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<V::Owned>> {
        if key.len() as u64 > MAX_KEY {
            return Err(Error::usage(format!(
                "a key of an ordered map has at most {MAX_KEY} bytes, not {}",
                key.len()
            )));
        }
        let Some((path, leaf)) = self.descend::<K>(sink, Side::Of(key))? else {
            let entry = self.entry(sink, key, value)?;
            let node = self.make_node(sink, 0, &[entry])?;
            self.set_root(sink, Root { node, levels: 0 })?;
            return Ok(None);
        };
        let (place, old) = match self.find::<K>(sink, &leaf, key)? {
            Err(place) => (place, None),
            Ok(place) => {
                let old = self.value::<V>(sink, &leaf, place)?;
                if self.overwrite(sink, &leaf, place, value)? {
                    return Ok(Some(old));
                }
                let slot = leaf.entry(place);
                if let Some(apart) = self.apart(sink, &leaf, slot)? {
                    apart.free(sink)?;
                }
                (place, Some(old))
            }
        };
        let entry = self.entry(sink, key, value)?;
        match old.is_some() {
            true => self.replace(sink, path, leaf, place, entry)?,
            false => self.add::<K, S>(sink, path, leaf, place, entry)?,
        }
        Ok(old)
    }

    /// An entry, with its value apart if that is long.
    fn entry<S: Sink>(&self, sink: &mut S, key: &[u8], value: &[u8]) -> Result<Entry> {
        let apart = value.len() as u64 > MAX_INLINE;
        let value = match apart {
            false => value.to_vec(),
            true => {
                let apart = Apart::store(sink, value, self.part)?;
                bytemuck::cast_slice(&[apart.at, apart.len]).to_vec()
            }
        };
        let key = key.to_vec();
        Ok(Entry { key, value, apart })
    }

    /// Writes another value in place of one that has as many words; whether it could.
    fn overwrite<S: Sink>(
        &self,
        sink: &mut S,
        leaf: &Head,
        entry: usize,
        value: &[u8],
    ) -> Result<bool> {
        let slot = leaf.entry(entry);
        if slot.apart || usize::from(slot.value_len) != value.len() {
            return Ok(false);
        }
        let new: Vec<u64> = value.chunks(8).map(crate::checksum::padded).collect();
        match &new[..] {
            [] => {}
            [word] => sink.set(leaf.at + slot.value_at(), *word)?,
            words => sink.write(leaf.at + slot.value_at(), words)?,
        }
        Ok(true)
    }

    /// Whether there is room behind the entries of a node.
    fn fits(&self, node: &Head, bytes: u64) -> bool {
        node.room_at() + bytes <= node.bytes
    }

    /// Writes an entry where in its node nobody looks; says in which slot, if there is room.
    fn fill<S: Sink>(&self, sink: &mut S, node: &Head, entry: &Entry) -> Result<Option<usize>> {
        let Some(slot) = node.order.free_slot() else {
            return Ok(None);
        };
        if !self.fits(node, entry.bytes()) {
            return Ok(None);
        }
        let at = node.room_at();
        sink.fill(node.at + at, &[&entry.key, &entry.value])?;
        sink.set(node.slot_at(slot), slot_of_entry(at, entry).encode())?;
        Ok(Some(slot))
    }

    /// Puts an entry in the place of another one with the same key, of a leaf.
    fn replace<S: Sink>(
        &self,
        sink: &mut S,
        path: Path,
        leaf: Head,
        place: usize,
        entry: Entry,
    ) -> Result<()> {
        if let Some(slot) = self.fill(sink, &leaf, &entry)? {
            return sink.set(leaf.at, leaf.order.without(place).with(place, slot).0);
        }
        let mut entries = self.entries(sink, &leaf)?;
        entries[place] = entry;
        let node = self.make_node(sink, 0, &entries)?;
        self.exchange(sink, &path, &leaf, node)
    }

    /// Adds an entry to a leaf, and what follows from that to the nodes above.
    fn add<K: Key + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        mut path: Path,
        mut node: Head,
        mut place: usize,
        mut entry: Entry,
    ) -> Result<()> {
        loop {
            match self.add_to::<K, S>(sink, &node, place, entry)? {
                Added::There => return Ok(()),
                Added::Rebuilt(new) => return self.exchange(sink, &path, &node, new),
                Added::Split {
                    left,
                    between,
                    right,
                } => {
                    if let Some(left) = left {
                        self.exchange(sink, &path, &node, left)?;
                    }
                    entry = Entry {
                        key: between,
                        value: right.to_le_bytes().to_vec(),
                        apart: false,
                    };
                    let Some((above, child)) = path.steps.pop() else {
                        return self.add_level(sink, node.level, left.unwrap_or(node.at), entry);
                    };
                    // Its pointer to the left one may have changed.
                    node = self.head(sink, above.at, above.level)?;
                    place = child + 1;
                }
            }
        }
    }

    /// Adds an entry to a node alone.
    fn add_to<K: Key + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        node: &Head,
        place: usize,
        entry: Entry,
    ) -> Result<Added> {
        if let Some(slot) = self.fill(sink, node, &entry)? {
            sink.set(node.at, node.order.with(place, slot).0)?;
            return Ok(Added::There);
        }
        let mut entries = self.entries(sink, node)?;
        let at_end = place == entries.len();
        entries.insert(place, entry);
        if entries.len() <= SLOTS && node.used() <= (node.bytes - HEAD_BYTES) / 2 {
            // Most of what it holds is gone.
            return self
                .make_node(sink, node.level, &entries)
                .map(Added::Rebuilt);
        }
        let middle = match at_end {
            true => place,
            false => entries.len() / 2,
        };
        let mut upper = entries.split_off(middle);
        let between = match node.level {
            0 => separator::<K>(&entries[middle - 1].key, &upper[0].key),
            // What is first in a node has no key of its own.
            _ => std::mem::take(&mut upper[0].key),
        };
        let right = self.make_node(sink, node.level, &upper)?;
        let left = match place < middle {
            // The new entry is in the lower half, for which there was no room.
            true => Some(self.make_node(sink, node.level, &entries)?),
            false => {
                if middle < node.order.len() {
                    sink.set(node.at, node.order.first(middle).0)?;
                }
                None
            }
        };
        Ok(Added::Split {
            left,
            between,
            right,
        })
    }

    /// Has a new node take the place of another one, which is freed.
    fn exchange<S: Sink>(&self, sink: &mut S, path: &Path, old: &Head, new: u64) -> Result<()> {
        match path.steps.last() {
            Some((above, child)) => sink.set(self.child_at(above, *child), new)?,
            None => {
                let levels = old.level.into();
                self.set_root(sink, Root { node: new, levels })?;
            }
        }
        sink.free(old.at)
    }

    /// Makes a root above the one that there was, which has become two.
    fn add_level<S: Sink>(&self, sink: &mut S, level: u8, left: u64, right: Entry) -> Result<()> {
        let left = Entry {
            key: Vec::new(),
            value: left.to_le_bytes().to_vec(),
            apart: false,
        };
        let node = self.make_node(sink, level + 1, &[left, right])?;
        let levels = u16::from(level) + 1;
        self.set_root(sink, Root { node, levels })
    }

    /// Makes a node of entries, at most 14.
    pub fn make_node<S: Sink>(&self, sink: &mut S, level: u8, entries: &[Entry]) -> Result<u64> {
        let used: u64 = entries.iter().map(Entry::bytes).sum();
        let usual = (used / entries.len().max(1) as u64 * SLOTS as u64).min(USUAL_BYTES);
        let bytes = HEAD_BYTES + usual.max(used);
        let bytes = match self.classes.of(bytes) {
            Some(_) => slot_of(class_of(bytes)),
            None => bytes.next_multiple_of(16),
        };
        let mut at = HEAD_BYTES;
        let mut slots = Vec::with_capacity(entries.len());
        for entry in entries {
            let slot = slot_of_entry(at, entry);
            at = slot.end();
            slots.push(slot);
        }
        let head = Head::encode(level, bytes, &slots);
        let zeros = vec![0; (bytes - at) as usize];
        let mut parts: Vec<&[u8]> = vec![bytemuck::cast_slice(&head)];
        for entry in entries {
            parts.extend([&entry.key[..], &entry.value[..]]);
        }
        parts.push(&zeros);
        sink.make(&Contents::Parts(&parts))
    }

    /// Removes a key and its value; says which one it had.
    ///
    /// # Errors
    ///
    /// The tree is damaged, or a fence failed.
    pub fn remove<K: Key + ?Sized, V: Value + ?Sized, S: Sink>(
        &self,
        sink: &mut S,
        key: &[u8],
    ) -> Result<Option<V::Owned>> {
        let Some((path, leaf)) = self.descend::<K>(sink, Side::Of(key))? else {
            return Ok(None);
        };
        let Ok(entry) = self.find::<K>(sink, &leaf, key)? else {
            return Ok(None);
        };
        let old = self.value::<V>(sink, &leaf, entry)?;
        if let Some(apart) = self.apart(sink, &leaf, leaf.entry(entry))? {
            apart.free(sink)?;
        }
        match leaf.order.len() {
            1 => self.remove_node(sink, path, &leaf)?,
            _ => sink.set(leaf.at, leaf.order.without(entry).0)?,
        }
        Ok(Some(old))
    }

    /// Removes the node to which the steps lead, and those above it that have no other child.
    fn remove_node<S: Sink>(&self, sink: &mut S, mut path: Path, node: &Head) -> Result<()> {
        sink.free(node.at)?;
        while let Some((above, child)) = path.steps.pop() {
            if above.order.len() == 1 {
                sink.free(above.at)?;
                continue;
            }
            sink.set(above.at, above.order.without(child).0)?;
            return self.lower(sink);
        }
        self.set_root(sink, Root::default())
    }

    /// Removes roots that have only one child.
    fn lower<S: Sink>(&self, sink: &mut S) -> Result<()> {
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
        match root == old {
            true => Ok(()),
            false => self.set_root(sink, root),
        }
    }

    fn set_root<S: Sink>(&self, sink: &mut S, root: Root) -> Result<()> {
        sink.set(root_at(self.table), root.encode())
    }

    /// How many entries there are, with so many that came since the heap was opened. The first time
    /// they are counted.
    ///
    /// # Errors
    ///
    /// The tree is damaged.
    pub fn len(&self, source: &impl Source, came: i64) -> Result<u64> {
        if let Some(base) = self.base.get() {
            return Ok((base + came).max(0) as u64);
        }
        let mut found = 0;
        self.walk(source, |head| {
            found += u64::from(head.level == 0) * head.order.len() as u64;
            Ok(())
        })?;
        let _ = self.base.set(found as i64 - came);
        Ok(found)
    }

    /// The offset of each object of the tree as often as it is reached, for checks.
    ///
    /// # Errors
    ///
    /// The tree is damaged.
    pub fn objects(&self, source: &impl Source) -> Result<Vec<u64>> {
        let mut objects = vec![self.table];
        self.walk(source, |head| {
            objects.push(head.at);
            for entry in 0..head.order.len() {
                if let Some(apart) = self.apart(source, head, head.entry(entry))? {
                    objects.extend(apart.objects(source)?);
                }
            }
            Ok(())
        })?;
        Ok(objects)
    }

    /// Looks at all nodes.
    fn walk(&self, source: &impl Source, mut look: impl FnMut(&Head) -> Result<()>) -> Result<()> {
        let root = self.root(source)?;
        let mut level: Vec<u64> = (root.node != 0).then_some(root.node).into_iter().collect();
        for number in (0..=root.levels as u8).rev() {
            let mut below = Vec::new();
            for &at in &level {
                let head = self.head(source, at, number)?;
                if !head.is_sound() {
                    return Err(damaged(at));
                }
                look(&head)?;
                for child in 0..head.order.len() * usize::from(number > 0) {
                    below.push(self.child(source, &head, child)?);
                }
                if below.len() as u64 > source.bytes() / HEAD_BYTES {
                    return Err(damaged(at));
                }
            }
            level = below;
        }
        Ok(())
    }
}

impl<M: Medium> Guarded<M> for Tree {
    fn guard(&self, _: usize) -> &Guard {
        &self.guard
    }

    fn touch(&self) {
        Tree::touch(self);
    }

    fn changed(&self, _: &Heap<M>, _: usize) {}
}

/// Where an entry lies that begins at a byte of its node.
fn slot_of_entry(at: u64, entry: &Entry) -> Slot {
    Slot {
        word: (at / WORD_BYTES) as u16,
        key_len: entry.key.len() as u16,
        value_len: entry.value.len() as u16,
        apart: entry.apart,
    }
}

/// A key that is above one and not above another: as short as it can be where the order is that of
/// bytes.
fn separator<K: Key + ?Sized>(low: &[u8], high: &[u8]) -> Vec<u8> {
    if !K::BYTEWISE {
        return high.to_vec();
    }
    let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    high[..high.len().min(same + 1)].to_vec()
}

/// A tree has keys and values of so many bytes, as a word of its table says.
pub(super) fn of_others(name: &str, bytes: u64) -> Error {
    other_sizes("ordered map", name, bytes as u32, (bytes >> 32) as u32)
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
