//! B-trees of format versions 1 and 2, which are converted to version 3 when they are opened.
//!
//! The table is an object of 64 bytes: magic, bytes of a key and of a value, slots of a leaf and
//! children of an inner node, and the root: its offset, and above it the levels of the tree; 0 if
//! it is empty.
//!
//! A leaf is a word whose bits say which slots are in use, and the slots, in no order:
//! key and value, each filled to a whole word. Slots of whole lines begin with a line. An inner
//! node is the number of its children, room for pointers to them, and the keys between them.

use crate::error::{Error, Result, ensure};
use crate::medium::LINE_BYTES;
use crate::sink::{Sink, Source};

use super::super::data::{Key, Value};
use super::layout::{Root, TABLE_WORDS, damaged};
use super::tree::Tree;

/// "TERRTREE", the magic number of format versions 1 and 2.
const MAGIC: u64 = u64::from_le_bytes(*b"TERRTREE");
/// Index of the word of the root.
const ROOT_WORD: usize = 3;

/// An old tree.
struct Old {
    table: u64,
    key_bytes: u64,
    value_bytes: u64,
    /// Slots of a leaf.
    slots: u64,
    /// Children of an inner node.
    children: u64,
    root: Root,
}

/// Returns the sizes of keys and values of an old tree, as one word, if the table is that of one.
pub(super) fn sizes(table: &[u64; TABLE_WORDS]) -> Option<u64> {
    (table[0] == MAGIC).then_some(table[1])
}

/// Makes a tree with the same entries, and frees the old one; returns the offset of the new table.
///
/// # Errors
///
/// The tree is damaged, the pool is full, or a fence failed.
pub(super) fn convert<K: Key + ?Sized, V: Value + ?Sized, S: Sink>(
    sink: &mut S,
    table: u64,
    words: &[u64],
    new: impl FnOnce(u64) -> Tree,
) -> Result<u64> {
    let old = Old::read(sink, table)?;
    let (inner, leaves) = old.nodes(sink)?;
    let table = sink.make_words(words)?;
    let tree = new(table);
    for &leaf in &leaves {
        for slot in old.used(sink, leaf)? {
            let mut key = vec![0; old.key_bytes as usize];
            let mut value = vec![0; old.value_bytes as usize];
            sink.load_bytes(slot, &mut key)?;
            sink.load_bytes(slot + old.key_stride(), &mut value)?;
            tree.insert::<K, V, S>(sink, &key, &value)?;
        }
    }
    let all = inner.into_iter().chain(leaves).chain([old.table]);
    all.into_iter().try_for_each(|object| sink.free(object))?;
    Ok(table)
}

impl Old {
    fn read(source: &impl Source, table: u64) -> Result<Self> {
        let words = source.words::<TABLE_WORDS>(table)?;
        let old = Self {
            table,
            key_bytes: u64::from(words[1] as u32),
            value_bytes: words[1] >> 32,
            slots: u64::from(words[2] as u32),
            children: words[2] >> 32,
            root: Root::decode(words[ROOT_WORD])?,
        };
        let sane = old.key_bytes > 0
            && (2..=64).contains(&old.slots)
            && (3..1 << 16).contains(&old.children);
        ensure(sane, || Error::damaged("a B-tree's table is damaged"))?;
        Ok(old)
    }

    fn key_stride(&self) -> u64 {
        self.key_bytes.next_multiple_of(8)
    }

    fn stride(&self) -> u64 {
        self.key_stride() + self.value_bytes.next_multiple_of(8)
    }

    /// Returns the position of the first slot in a leaf.
    fn slots_at(&self) -> u64 {
        match self.stride().is_multiple_of(LINE_BYTES) {
            true => LINE_BYTES,
            false => 8,
        }
    }

    /// Returns the offsets of the used slots of a leaf.
    fn used(&self, source: &impl Source, leaf: u64) -> Result<Vec<u64>> {
        let used = source.word(leaf)?;
        ensure(used >> 1 >> (self.slots - 1) == 0, || damaged(leaf))?;
        let slots = (0..self.slots).filter(|slot| used >> slot & 1 == 1);
        let at = |slot| leaf.saturating_add(self.slots_at() + slot * self.stride());
        Ok(slots.map(at).collect())
    }

    /// Returns the inner nodes and the leaves.
    fn nodes(&self, source: &impl Source) -> Result<(Vec<u64>, Vec<u64>)> {
        let (mut inner, mut leaves) = (Vec::new(), Vec::new());
        let most = source.bytes() / self.stride();
        self.root.walk(most, |node, level| {
            if level == 0 {
                leaves.push(node);
                return Ok(Vec::new());
            }
            inner.push(node);
            let count = source.word(node)?;
            ensure((1..=self.children).contains(&count), || damaged(node))?;
            let children = (1..=count).map(|child| source.word(node.saturating_add(child * 8)));
            let children = children.collect::<Result<Vec<_>>>()?;
            ensure(!children.contains(&0), || damaged(node))?;
            Ok(children)
        })?;
        Ok((inner, leaves))
    }
}
