//! Where things lie: the table of a tree, its leaves and its inner nodes.
//!
//! The table is an object of 64 bytes: magic, bytes of a key and of a value, slots of a leaf and
//! children of an inner node, and the root: its offset, and above it the levels of the tree; 0 if it
//! is empty.
//!
//! A leaf is a word of which each bit says whether a slot is in use, and the slots, in no order: key
//! and value, each filled to a whole word. Slots of whole lines begin with a line.
//!
//! An inner node is the number of its children, room for pointers to them, and the keys between
//! them, ascending: keys below the first are in the first child, those from the first on in the
//! second.

use crate::error::{Error, Result};
use crate::layout::{FIELD_BITS, FIELD_MAX};
use crate::medium::LINE_BYTES;

/// "TERRTREE".
const MAGIC: u64 = u64::from_le_bytes(*b"TERRTREE");
/// Words of a table.
pub(super) const TABLE_WORDS: usize = 8;
/// Word in which the root is.
const ROOT_WORD: u64 = 3;
/// Bytes of a node, if that is enough for [`MIN_ENTRIES`].
const NODE_BYTES: u64 = 512;
/// The fewest slots of a leaf and children of an inner node.
const MIN_ENTRIES: u64 = 4;
/// The most slots of a leaf: one for each bit of a word.
const MAX_SLOTS: u64 = 64;
/// No tree is higher unless it is damaged: a level takes at least twice the splits of the one below.
pub(super) const MAX_LEVELS: u16 = 64;

/// What never changes about a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub key_bytes: u32,
    pub value_bytes: u32,
    /// Slots of a leaf.
    pub slots: u32,
    /// Children of an inner node.
    pub children: u32,
}

/// The root of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Root {
    /// Offset of the node, 0 if there is none.
    pub node: u64,
    /// Levels of inner nodes above the leaves.
    pub levels: u16,
}

impl Shape {
    /// For keys and values of so many bytes.
    pub fn new(key_bytes: usize, value_bytes: usize) -> Self {
        let mut shape = Self {
            key_bytes: key_bytes as u32,
            value_bytes: value_bytes as u32,
            slots: 0,
            children: 0,
        };
        let slots = (NODE_BYTES - shape.slots_at()) / shape.stride();
        let children = (NODE_BYTES - 8) / (8 + shape.key_stride());
        shape.slots = slots.clamp(MIN_ENTRIES, MAX_SLOTS) as u32;
        shape.children = children.max(MIN_ENTRIES) as u32;
        shape
    }

    /// A table of an empty tree.
    pub fn encode(&self) -> [u64; TABLE_WORDS] {
        let mut words = [0; TABLE_WORDS];
        words[0] = MAGIC;
        words[1] = u64::from(self.key_bytes) | u64::from(self.value_bytes) << 32;
        words[2] = u64::from(self.slots) | u64::from(self.children) << 32;
        words
    }

    /// What the words of a table say.
    ///
    /// # Errors
    ///
    /// It is damaged, or none.
    pub fn decode(words: &[u64; TABLE_WORDS]) -> Result<Self> {
        let shape = Self {
            key_bytes: words[1] as u32,
            value_bytes: (words[1] >> 32) as u32,
            slots: words[2] as u32,
            children: (words[2] >> 32) as u32,
        };
        let sane = shape.key_bytes > 0
            && (2..=MAX_SLOTS as u32).contains(&shape.slots)
            && (3..1 << 16).contains(&shape.children);
        if words[0] != MAGIC || !sane {
            return Err(Error::damaged("a B-tree's table is damaged"));
        }
        Ok(shape)
    }

    /// Bytes of a key, to the value or the next key.
    pub fn key_stride(&self) -> u64 {
        u64::from(self.key_bytes).next_multiple_of(8)
    }

    /// Bytes from one slot of a leaf to the next.
    pub fn stride(&self) -> u64 {
        self.key_stride() + u64::from(self.value_bytes).next_multiple_of(8)
    }

    fn slots_at(&self) -> u64 {
        match self.stride().is_multiple_of(LINE_BYTES) {
            true => LINE_BYTES,
            false => 8,
        }
    }

    /// Where a slot of a leaf lies.
    pub fn slot(&self, leaf: u64, slot: u32) -> u64 {
        leaf.saturating_add(self.slots_at() + u64::from(slot) * self.stride())
    }

    /// Bytes of a leaf.
    pub fn leaf_bytes(&self) -> u64 {
        self.slot(0, self.slots)
    }

    /// The bits of all slots.
    pub fn all(&self) -> u64 {
        u64::MAX >> (64 - self.slots)
    }

    /// Where the pointer to a child of an inner node lies.
    pub fn child(&self, node: u64, child: u64) -> u64 {
        node.saturating_add(8 + child * 8)
    }

    /// Where the key between a child of an inner node and the next one lies.
    pub fn key(&self, node: u64, child: u64) -> u64 {
        self.child(node, u64::from(self.children))
            .saturating_add(child * self.key_stride())
    }

    /// Bytes of an inner node.
    pub fn inner_bytes(&self) -> u64 {
        self.key(0, u64::from(self.children) - 1)
    }
}

impl Root {
    pub fn encode(self) -> u64 {
        self.node | u64::from(self.levels) << FIELD_BITS
    }

    /// # Errors
    ///
    /// It is no root.
    pub fn decode(word: u64) -> Result<Self> {
        let root = Self {
            node: word & FIELD_MAX,
            levels: (word >> FIELD_BITS) as u16,
        };
        match root.levels <= MAX_LEVELS && (root.node != 0 || word == 0) {
            true => Ok(root),
            false => Err(Error::damaged("a B-tree's root is damaged")),
        }
    }
}

/// Where the root is.
pub(super) fn root_at(table: u64) -> u64 {
    table + ROOT_WORD * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_a_few_lines() {
        let small = Shape::new(8, 8);
        assert_eq!((small.slots, small.children), (31, 31));
        assert!(small.leaf_bytes() <= 512 && small.inner_bytes() <= 512);
        let large = Shape::new(64, 64);
        assert_eq!((large.slots, large.children), (4, 7));
        assert_eq!((large.slot(1024, 1), large.leaf_bytes()), (1024 + 192, 576));
        assert_eq!(large.inner_bytes(), 8 + 7 * 8 + 6 * 64);
        assert_eq!(Shape::new(1, 0).slots, 63);
    }

    #[test]
    fn tables_and_roots_are_read_as_they_were_written() {
        let shape = Shape::new(12, 100);
        let words = shape.encode();
        assert_eq!(Shape::decode(&words), Ok(shape));
        for damage in [(0, 1), (1, 0), (2, 0), (2, 4), (2, 65 | 4 << 32)] {
            let mut damaged = words;
            damaged[damage.0] = damage.1;
            assert!(Shape::decode(&damaged).is_err());
        }
        let root = Root {
            node: 4096,
            levels: 3,
        };
        assert_eq!(Root::decode(root.encode()), Ok(root));
        assert_eq!(Root::decode(0), Ok(Root::default()));
        assert!(Root::decode(1 << 48).is_err() && Root::decode(u64::MAX).is_err());
    }
}
