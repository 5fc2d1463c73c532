//! Reading nodes: the path from the root to a leaf, and entries.

use std::cmp::Ordering;
use std::ops::Range;

use crate::checksum::padded;
use crate::error::{Result, ensure};
use crate::sink::Source;

use super::super::apart::Stored;
use super::super::data::Key;
use super::layout::{
    APART_BYTES, HEAD_BYTES, HEAD_WORDS, Head, Root, SLOTS, Slot, damaged, root_at,
};
use super::tree::Tree;

/// Bytes of an inner node with short keys, which are fetched before its length is known.
const INNER_BYTES: u64 = HEAD_BYTES + 16 * SLOTS as u64;

/// Selects a leaf.
#[derive(Clone, Copy)]
pub(super) enum Side<'k> {
    /// The leaf of the smallest keys.
    First,
    /// The leaf in which a key is, or would be.
    Of(&'k [u8]),
    /// The leaf of the largest keys.
    Last,
}

/// The path to a node.
pub(super) struct Path {
    /// Inner nodes from the root on, each with the number of its child on the path.
    pub steps: Vec<(Head, usize)>,
    pub node: Head,
}

/// An entry that was copied out of a node.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: Vec<u8>,
    /// Its value, or pointer and length of one that lies apart.
    pub value: Vec<u8>,
    pub apart: bool,
}

impl Entry {
    /// Returns the entry of an inner node that points to a child.
    pub fn pointer(key: Vec<u8>, child: u64) -> Self {
        let (value, apart) = (child.to_le_bytes().to_vec(), false);
        Self { key, value, apart }
    }

    /// Returns the bytes that the entry takes in a node.
    pub fn bytes(&self) -> u64 {
        (self.key.len().next_multiple_of(8) + self.value.len().next_multiple_of(8)) as u64
    }
}

impl Tree {
    pub fn root(&self, source: &impl Source) -> Result<Root> {
        match self.checked {
            false => Root::decode(source.word(root_at(self.table))?),
            true => self.checked_root(source),
        }
    }

    /// Reads the head of a node with `level` levels of nodes below it.
    ///
    /// # Errors
    ///
    /// It is damaged.
    // Always inlined: a call would copy its result through memory at each level.
    #[inline(always)]
    pub fn head(&self, source: &impl Source, at: u64, level: u8) -> Result<Head> {
        let words = source.words::<HEAD_WORDS>(at)?;
        let mut head = Head::decode(at, level, &words)?;
        if self.checked {
            head.expect(words[1])?;
        }
        let end = at.saturating_add(head.bytes);
        let fits = end <= source.bytes() && head.bytes >= HEAD_BYTES;
        ensure(fits, || damaged(at))?;
        Ok(head)
    }

    /// Returns an inner node at an offset, the number of its child on the way to a side, and where
    /// that lies. Whether the node is changed is looked up once, not for each word of it.
    ///
    /// # Errors
    ///
    /// The node is not as a tree's.
    #[inline(always)]
    fn step<K: Key + ?Sized>(
        &self,
        source: &impl Source,
        at: u64,
        level: u8,
        to: Side,
    ) -> Result<(Head, usize, u64)> {
        let near = source.is_changed_near(at, INNER_BYTES);
        let head = match near && source.is_changed_near(at, HEAD_BYTES) {
            true => self.head(source, at, level)?,
            false => self.head(source.pool(), at, level)?,
        };
        match (near || head.bytes > INNER_BYTES) && are_changed(source, &head) {
            true => self.below::<K>(source, head, to),
            false => self.below::<K>(source.pool(), head, to),
        }
    }

    /// Same as [`Tree::head`]. Whether the node is changed is looked up at little price.
    #[inline(always)]
    fn leaf_head(&self, source: &impl Source, at: u64) -> Result<Head> {
        match source.is_changed_near(at, HEAD_BYTES) {
            true => self.head(source, at, 0),
            false => self.head(source.pool(), at, 0),
        }
    }

    #[inline(always)]
    fn below<K: Key + ?Sized>(
        &self,
        source: &impl Source,
        head: Head,
        to: Side,
    ) -> Result<(Head, usize, u64)> {
        let child = match to {
            Side::First => 0,
            Side::Of(key) => self.child_of::<K>(source, &head, key)?,
            Side::Last => head.order.len() - 1,
        };
        let at = self.child(source, &head, child)?;
        Ok((head, child, at))
    }

    /// Returns the path to a leaf; `None` in an empty tree.
    ///
    /// # Errors
    ///
    /// The tree is damaged.
    #[inline]
    pub fn descend<K: Key + ?Sized>(&self, source: &impl Source, to: Side) -> Result<Option<Path>> {
        let root = self.root(source)?;
        if root.node == 0 {
            return Ok(None);
        }
        let mut steps = Vec::with_capacity(root.levels.into());
        let mut at = root.node;
        for level in (1..=root.levels as u8).rev() {
            let (head, child, below) = self.step::<K>(source, at, level, to)?;
            at = below;
            steps.push((head, child));
        }
        let node = self.leaf_head(source, at)?;
        Ok(Some(Path { steps, node }))
    }

    /// Returns the leaf in which a key is, or would be.
    ///
    /// # Errors
    ///
    /// The tree is damaged.
    #[inline]
    pub fn leaf<K: Key + ?Sized>(&self, source: &impl Source, key: &[u8]) -> Result<Option<Head>> {
        let root = self.root(source)?;
        if root.node == 0 {
            return Ok(None);
        }
        let mut at = root.node;
        for level in (1..=root.levels as u8).rev() {
            (_, _, at) = self.step::<K>(source, at, level, Side::Of(key))?;
            if level > 1 {
                source.prefetch(at, INNER_BYTES);
            }
        }
        let leaf = self.leaf_head(source, at)?;
        // A binary search reads keys one after the other; prefetching all of them overlaps the
        // reads.
        for entry in 0..leaf.order.len() {
            source.prefetch(leaf.at + leaf.entry(entry).key_at(), 8);
        }
        Ok(Some(leaf))
    }

    /// Returns the offset of the pointer to a child.
    pub fn child_at(&self, head: &Head, child: usize) -> u64 {
        head.at + head.entry(child).value_at()
    }

    /// Returns the offset of a child.
    ///
    /// # Errors
    ///
    /// The node is damaged.
    #[inline]
    pub fn child(&self, source: &impl Source, head: &Head, child: usize) -> Result<u64> {
        let slot = head.entry(child);
        if self.checked {
            self.expect_value(source, head, slot)?;
        }
        ensure(slot.value_len == 8 && !slot.apart, || damaged(head.at))?;
        let at = source.word(self.child_at(head, child))?;
        ensure(at != 0, || damaged(head.at))?;
        Ok(at)
    }

    /// Returns the child in which a key is: the last one whose first key is not above it.
    #[inline]
    fn child_of<K: Key + ?Sized>(
        &self,
        source: &impl Source,
        head: &Head,
        key: &[u8],
    ) -> Result<usize> {
        let numbers = 1..head.order.len();
        let found = self.search::<K>(source, head, numbers, key)?;
        Ok(found.unwrap_or_else(|above| above - 1))
    }

    /// Returns the entry of a leaf with a key, or as an error the entry before which it would be.
    ///
    /// # Errors
    ///
    /// The leaf is damaged.
    #[inline]
    pub fn find<K: Key + ?Sized>(
        &self,
        source: &impl Source,
        leaf: &Head,
        key: &[u8],
    ) -> Result<std::result::Result<usize, usize>> {
        self.search::<K>(source, leaf, 0..leaf.order.len(), key)
    }

    /// Searches for a key among entries of a node.
    #[inline(always)]
    fn search<K: Key + ?Sized>(
        &self,
        source: &impl Source,
        head: &Head,
        numbers: Range<usize>,
        key: &[u8],
    ) -> Result<std::result::Result<usize, usize>> {
        if are_changed(source, head) {
            return search(numbers, |entry| self.compare::<K>(source, head, entry, key));
        }
        let pool = source.pool();
        search(numbers, |entry| self.compare::<K>(pool, head, entry, key))
    }

    /// Compares the key of an entry with another key.
    #[inline(always)]
    fn compare<K: Key + ?Sized>(
        &self,
        source: &impl Source,
        head: &Head,
        entry: usize,
        key: &[u8],
    ) -> Result<Ordering> {
        let slot = head.entry(entry);
        if self.checked {
            self.expect_key(source, head, slot)?;
        }
        let (at, len) = (head.at + slot.key_at(), usize::from(slot.key_len));
        if K::BYTEWISE {
            return compare_bytes(source, at, len, key);
        }
        if let Some(bytes) = K::BYTES.filter(|&bytes| bytes <= 64) {
            let mut stored = [0; 64];
            let stored = &mut stored[..(bytes as usize).min(len)];
            source.load_bytes(at, stored)?;
            return Ok(K::compare(stored, key));
        }
        let mut stored = vec![0; len];
        source.load_bytes(at, &mut stored)?;
        Ok(K::compare(&stored, key))
    }

    /// Returns the key of an entry.
    ///
    /// # Errors
    ///
    /// It is not in the pool.
    pub fn key_of(&self, source: &impl Source, head: &Head, entry: usize) -> Result<Vec<u8>> {
        let slot = head.entry(entry);
        if self.checked {
            self.expect_key(source, head, slot)?;
        }
        let mut key = vec![0; slot.key_len.into()];
        source.load_bytes(head.at + slot.key_at(), &mut key)?;
        Ok(key)
    }

    /// Returns all entries of a node.
    ///
    /// # Errors
    ///
    /// The entries are not in the pool.
    pub fn entries(&self, source: &impl Source, head: &Head) -> Result<Vec<Entry>> {
        match are_changed(source, head) {
            true => self.entries_of(source, head),
            false => self.entries_of(source.pool(), head),
        }
    }

    fn entries_of(&self, source: &impl Source, head: &Head) -> Result<Vec<Entry>> {
        let entries = (0..head.order.len()).map(|entry| {
            let slot = head.entry(entry);
            if self.checked {
                self.expect_value(source, head, slot)?;
            }
            let mut value = vec![0; slot.value_len.into()];
            source.load_bytes(head.at + slot.value_at(), &mut value)?;
            Ok(Entry {
                key: self.key_of(source, head, entry)?,
                value,
                apart: slot.apart,
            })
        });
        entries.collect()
    }

    /// Returns the place of the value of an entry.
    ///
    /// # Errors
    ///
    /// The node is damaged.
    #[inline]
    pub fn stored(&self, source: &impl Source, head: &Head, slot: Slot) -> Result<Stored> {
        if self.checked {
            self.expect_value(source, head, slot)?;
        }
        let (at, len) = (head.at + slot.value_at(), slot.value_len.into());
        if !slot.apart {
            return Ok(Stored::within(at, len));
        }
        let [pointer, bytes] = source.words(at)?;
        ensure(len == APART_BYTES && bytes <= source.bytes(), || {
            damaged(head.at)
        })?;
        Ok(Stored::apart(pointer, bytes, self.part))
    }
}

/// Returns whether there may be changes of the entries of a node that are not in the pool yet.
#[inline(always)]
fn are_changed(source: &impl Source, head: &Head) -> bool {
    source.is_changed_near(head.at + HEAD_BYTES, head.bytes.saturating_sub(HEAD_BYTES))
}

/// Returns the number among sorted ones that `compare` finds equal, or as an error the first that
/// it finds greater.
#[inline(always)]
pub(super) fn search<E>(
    numbers: Range<usize>,
    compare: impl Fn(usize) -> std::result::Result<Ordering, E>,
) -> std::result::Result<std::result::Result<usize, usize>, E> {
    let Range { mut start, mut end } = numbers;
    while start < end {
        let middle = start.midpoint(end);
        match compare(middle)? {
            Ordering::Less => start = middle + 1,
            Ordering::Equal => return Ok(Ok(middle)),
            Ordering::Greater => end = middle,
        }
    }
    Ok(Err(start))
}

/// Compares bytes of a pool with others, in the order of bytes.
#[inline(always)]
fn compare_bytes(source: &impl Source, at: u64, len: usize, key: &[u8]) -> Result<Ordering> {
    // The zeros that fill the last words keep the order.
    let (words, rest) = key.as_chunks::<8>();
    for (at, word) in (at..at + len as u64).step_by(8).zip(words) {
        let (stored, word) = (source.word(at)?.swap_bytes(), u64::from_be_bytes(*word));
        if stored != word {
            return Ok(stored.cmp(&word));
        }
    }
    let whole = size_of_val(words);
    if len > whole && !rest.is_empty() {
        let stored = source.word(at + whole as u64)?.swap_bytes();
        let word = padded(rest).swap_bytes();
        if stored != word {
            return Ok(stored.cmp(&word));
        }
    }
    Ok(len.cmp(&key.len()))
}
