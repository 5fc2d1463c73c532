//! The layout of a tree: its table, and its nodes.
//!
//! The table is 64 bytes: magic; bytes of a key and of a value, all ones if they have any length;
//! the root: its offset, and above it the levels of inner nodes; 0 if the tree is empty; and 1 if
//! the description of the types follows the table (`types`), in the same object.
//!
//! A node is an object: its *order*, its level and bytes, a word for each of 14 slots, and the
//! entries. An entry is a key and a value, each filled to whole words; its slot says where in the
//! node it lies, how long both are, and whether the value lies apart (then its pointer and its
//! length are in its place). Slots are in no order. The order is one word that says which slots are
//! in use and how they follow each other, four bits for each (Mao, Kohler and Morris: Cache
//! craftiness for fast multicore key-value storage, EuroSys 2012, section 4.6.2). So an entry is
//! written where nothing is read, and becomes part of the node with its slot and the order; an
//! entry is removed by the order alone; and entries are read in the order of their keys.
//!
//! Where contents have checksums (`sums`), a word of the table is the check of the root, another
//! one that of what never changes; 32 bits of the node's second word are the check of its order;
//! and before each entry is the check of its slot, its key and its value.
//!
//! The values of an inner node are offsets of its children. A child holds the keys from its own on
//! to before the key of the next one; the key of the first child is not used.

use crate::checksum::checksum;
use crate::error::{Error, Result, ensure};
use crate::layout::{FIELD_BITS, FIELD_MAX};
use crate::medium::WORD_BYTES;

use super::super::types::Described;

/// "TERRTRE3", the magic number of format version 3.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"TERRTRE3");
/// Words of a table.
pub(super) const TABLE_WORDS: usize = 8;
/// Index of the word of the root.
pub(super) const ROOT_WORD: u64 = 2;
/// Where a tree has the description of its types.
pub(in super::super) const DESCRIBED: Described = Described {
    what: "ordered map",
    table_words: TABLE_WORDS,
    marker: (3, 1),
};

/// Slots of a node.
pub(super) const SLOTS: usize = 14;
/// Words of a node before its entries: two lines.
pub(super) const HEAD_WORDS: usize = 2 + SLOTS;
/// Bytes of these words.
pub(super) const HEAD_BYTES: u64 = HEAD_WORDS as u64 * WORD_BYTES;
/// Bytes of the longest key.
pub(super) const MAX_KEY: u64 = 16 << 10;
/// Bytes of the longest value that lies in its entry.
pub(super) const MAX_INLINE: u64 = 1024;
/// Bytes in an entry of a value that lies apart: pointer and length.
pub(super) const APART_BYTES: u64 = 16;
/// The most bytes of a node where contents have checksums.
const MAX_CHECKED: u64 = (1 << 24) - 1;
/// The most levels of a sound tree.
pub(super) const MAX_LEVELS: u16 = 64;

/// The root of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Root {
    /// Offset of the node, 0 if there is none.
    pub node: u64,
    /// Levels of inner nodes above the leaves.
    pub levels: u16,
}

/// The slots of a node that are in use, in the order of their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order(pub u64);

/// The place of an entry in its node, and the lengths of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// The word of the node at which it begins.
    pub word: u16,
    pub key_len: u16,
    pub value_len: u16,
    /// Whether the value lies apart.
    pub apart: bool,
    /// The slot's number in the node, which its word does not hold.
    pub number: u8,
}

/// A node without its entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// Offset of the node.
    pub at: u64,
    pub order: Order,
    /// Levels of nodes below it.
    pub level: u8,
    /// Bytes of the node.
    pub bytes: u64,
    /// The words of the slots; 16, so that each number that an order can hold has one.
    slots: [u64; 16],
}

impl Root {
    pub fn encode(self) -> u64 {
        self.node | u64::from(self.levels) << FIELD_BITS
    }

    /// Decodes the word of a root.
    ///
    /// # Errors
    ///
    /// The word is damaged.
    pub fn decode(word: u64) -> Result<Self> {
        let root = Self {
            node: word & FIELD_MAX,
            levels: (word >> FIELD_BITS) as u16,
        };
        let sane = root.levels <= MAX_LEVELS && (root.node != 0 || root.levels == 0);
        ensure(sane, || Error::damaged("a B-tree's root is damaged"))?;
        Ok(root)
    }
}

impl Root {
    /// Calls `look` with each node, which returns its children, and the levels of nodes below it,
    /// level by level.
    ///
    /// # Errors
    ///
    /// What `look` returns; there are more than `most` nodes of a level.
    pub fn walk(self, most: u64, mut look: impl FnMut(u64, u8) -> Result<Vec<u64>>) -> Result<()> {
        let mut nodes = Vec::from_iter(Some(self.node).filter(|&node| node != 0));
        for level in (0..=self.levels as u8).rev() {
            let mut below = Vec::new();
            for &at in &nodes {
                below.append(&mut look(at, level)?);
                ensure(below.len() as u64 <= most, || damaged(at))?;
            }
            nodes = below;
        }
        Ok(())
    }
}

/// Returns the offset of the root's word in a tree's table.
pub(super) fn root_at(table: u64) -> u64 {
    table + ROOT_WORD * WORD_BYTES
}

impl Order {
    /// Returns the number of entries.
    #[inline]
    pub fn len(self) -> usize {
        (self.0 & 15) as usize
    }

    /// Returns the slot of an entry.
    #[inline]
    pub fn slot(self, entry: usize) -> usize {
        (self.0 >> (4 * (entry + 1)) & 15) as usize
    }

    /// Returns the slots in use, a bit for each.
    fn used(self) -> u32 {
        (0..self.len()).fold(0, |used, entry| used | 1 << self.slot(entry))
    }

    /// Returns a slot that is not in use.
    pub fn free_slot(self) -> Option<usize> {
        Some(self.used().trailing_ones() as usize).filter(|&slot| slot < SLOTS)
    }

    /// Returns the order with a slot added at this position.
    pub fn with(self, entry: usize, slot: usize) -> Self {
        let shift = 4 * (entry + 1);
        let (low, high) = (self.0 & ((1 << shift) - 1), self.0 >> shift << shift);
        Self((low | high << 4 | (slot as u64) << shift) + 1)
    }

    /// Returns the order without the entry at this position.
    pub fn without(self, entry: usize) -> Self {
        let shift = 4 * (entry + 1);
        let (low, high) = (self.0 & ((1 << shift) - 1), self.0 >> shift >> 4 << shift);
        Self((low | high) - 1)
    }

    /// Returns the order of the first `count` entries.
    pub fn first(self, len: usize) -> Self {
        Self((self.0 & ((1 << (4 * (len + 1))) - 1)) - self.len() as u64 + len as u64)
    }

    /// Returns the order of `count` entries in the slots of their numbers.
    pub fn of(len: usize) -> Self {
        (0..len).fold(Self(0), |order, slot| order.with(slot, slot))
    }

    /// Returns whether no slot occurs twice, and all exist.
    fn is_sound(self) -> bool {
        self.used().count_ones() as usize == self.len() && self.used() >> SLOTS == 0
    }
}

impl Slot {
    pub fn encode(self) -> u64 {
        u64::from(self.word)
            | u64::from(self.key_len) << 16
            | u64::from(self.value_len) << 32
            | u64::from(self.apart) << 48
    }

    /// Reads the word of the slot with a number.
    #[inline]
    pub fn decode(number: usize, word: u64) -> Self {
        Self {
            number: number as u8,
            word: word as u16,
            key_len: (word >> 16) as u16,
            value_len: (word >> 32) as u16,
            apart: word >> 48 & 1 == 1,
        }
    }

    /// Returns where the key begins, in bytes from the beginning of the node.
    #[inline]
    pub fn key_at(self) -> u64 {
        u64::from(self.word) * WORD_BYTES
    }

    /// Returns where the value begins.
    #[inline]
    pub fn value_at(self) -> u64 {
        self.key_at() + u64::from(self.key_len).next_multiple_of(WORD_BYTES)
    }

    /// Returns where the entry ends.
    #[inline]
    pub fn end(self) -> u64 {
        self.value_at() + u64::from(self.value_len).next_multiple_of(WORD_BYTES)
    }

    /// Returns the bytes of the entry.
    pub fn bytes(self) -> u64 {
        self.end() - self.key_at()
    }
}

impl Head {
    /// Decodes the first words of a node at `at`, with `level` levels of nodes below it.
    /// [`Head::is_sound`] checks its slots.
    ///
    /// # Errors
    ///
    /// The words are not those of such a node.
    #[inline]
    pub fn decode(at: u64, level: u8, words: &[u64; HEAD_WORDS]) -> Result<Self> {
        let mut slots = [0; 16];
        slots[..SLOTS].copy_from_slice(&words[2..]);
        let head = Self {
            at,
            order: Order(words[0]),
            level: words[1] as u8,
            bytes: words[1] >> 8,
            slots,
        };
        let len = head.order.len();
        ensure(head.level == level && len <= SLOTS && len > 0, || {
            damaged(at)
        })?;
        Ok(head)
    }

    /// Returns whether the slots in use are different, and lie within the node.
    pub fn is_sound(&self) -> bool {
        let fits = |entry| {
            let slot = self.entry(entry);
            slot.key_at() >= HEAD_BYTES && slot.end() <= self.bytes
        };
        self.order.is_sound() && (0..self.order.len()).all(fits)
    }

    /// Checks a head that was decoded of a node with checksums, and whose second word is this.
    ///
    /// # Errors
    ///
    /// The words are other ones than were written.
    #[inline]
    pub fn expect(&mut self, said: u64) -> Result<()> {
        self.bytes &= MAX_CHECKED;
        ensure(self.said(self.order) == said, || damaged(self.at))
    }

    /// Returns the second word of the node with an order, where contents have checksums.
    #[inline]
    pub fn said(&self, order: Order) -> u64 {
        let said = u64::from(self.level) | self.bytes << 8;
        said | checksum(self.at, &[order.0, said]) << 32
    }

    /// Returns the head of a new node at `at`, with entries in the slots of their numbers.
    pub fn new(at: u64, level: u8, bytes: u64, slots: &[Slot]) -> Self {
        let words = Self::encode(level, bytes, slots);
        let mut all = [0; 16];
        all[..SLOTS].copy_from_slice(&words[2..]);
        Self {
            at,
            order: Order(words[0]),
            level,
            bytes,
            slots: all,
        }
    }

    /// Encodes the first words of a node of `bytes` bytes, with entries in the slots of their
    /// numbers.
    pub fn encode(level: u8, bytes: u64, slots: &[Slot]) -> [u64; HEAD_WORDS] {
        let mut words = [0; HEAD_WORDS];
        words[0] = Order::of(slots.len()).0;
        words[1] = u64::from(level) | bytes << 8;
        for (word, slot) in words[2..].iter_mut().zip(slots) {
            *word = slot.encode();
        }
        words
    }

    /// Returns where an entry lies.
    #[inline]
    pub fn entry(&self, entry: usize) -> Slot {
        let number = self.order.slot(entry);
        Slot::decode(number, self.slots[number])
    }

    /// Returns where the word of a slot lies.
    pub fn slot_at(&self, slot: usize) -> u64 {
        self.at + (2 + slot as u64) * WORD_BYTES
    }

    /// Returns the end of all entries in use, in bytes from the beginning of the node.
    #[inline]
    pub fn room_at(&self) -> u64 {
        let ends = (0..self.order.len()).map(|entry| self.entry(entry).end());
        ends.max().unwrap_or(HEAD_BYTES)
    }

    /// Returns the bytes of all entries in use.
    pub fn used(&self) -> u64 {
        (0..self.order.len())
            .map(|entry| self.entry(entry).bytes())
            .sum()
    }
}

pub(super) fn damaged(node: u64) -> Error {
    Error::damaged(format!("a B-tree is damaged: its node at {node} is"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The twin is a list of slots.
        #[test]
        fn an_order_is_a_list_of_slots(steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..100)) {
            let (mut order, mut twin) = (Order::default(), Vec::new());
            for (add, which) in steps {
                if add && twin.len() < SLOTS {
                    let entry = which.index(twin.len() + 1);
                    let slot = order.free_slot().unwrap();
                    prop_assert!(!twin.contains(&slot));
                    twin.insert(entry, slot);
                    order = order.with(entry, slot);
                } else if !twin.is_empty() {
                    let entry = which.index(twin.len());
                    twin.remove(entry);
                    order = order.without(entry);
                }
                let slots: Vec<usize> = (0..order.len()).map(|entry| order.slot(entry)).collect();
                prop_assert_eq!(&slots, &twin);
                prop_assert!(order.is_sound());
                for len in 0..twin.len() {
                    let first = order.first(len);
                    let slots: Vec<usize> = (0..first.len()).map(|entry| first.slot(entry)).collect();
                    prop_assert_eq!(&slots[..], &twin[..len]);
                }
            }
            prop_assert_eq!(order.free_slot().is_none(), twin.len() == SLOTS);
        }

        #[test]
        fn a_slot_is_read_as_it_was_written(word: u16, key_len: u16, value_len: u16, apart: bool) {
            let slot = Slot { word, key_len, value_len, apart, number: 3 };
            prop_assert_eq!(Slot::decode(3, slot.encode()), slot);
        }
    }

    #[test]
    fn what_is_no_order_is_refused() {
        for order in [15, 0x112, 0xe1, 0xf1] {
            assert!(!Order(order).is_sound(), "{order:x}");
        }
        assert!(Order(0x012).is_sound() && Order(0).is_sound());
    }
}
