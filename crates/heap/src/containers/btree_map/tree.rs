//! A tree: the state in DRAM that all its handles share, and reading over any source of words.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::allocator::class::Classes;
use crate::error::{Error, Result, ensure};
use crate::guard::Guard;
use crate::layout::Geometry;
use crate::medium::Medium;
use crate::sink::Source;
use crate::transaction::held::Guarded;

use super::super::apart::part_bytes;
use super::super::data::{Key, Value, other_sizes};
use super::layout::{HEAD_BYTES, Head, MAGIC, TABLE_WORDS, damaged};

/// The state of a tree.
pub(super) struct Tree {
    /// Offset of the table.
    pub table: u64,
    pub part: u64,
    pub classes: Classes,
    pub guard: Guard,
    /// Number of entries when the heap was opened, once they have been counted.
    base: OnceLock<i64>,
    /// Counts changes, so that a cursor notices that its copy is out of date.
    changes: AtomicU64,
}

impl Tree {
    /// Returns the words of the table of a new tree.
    pub fn new_table(key_bytes: u32, value_bytes: u32) -> [u64; TABLE_WORDS] {
        let bytes = u64::from(key_bytes) | u64::from(value_bytes) << 32;
        [MAGIC, bytes, 0, 0, 0, 0, 0, 0]
    }

    /// Returns the tree with a table.
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

    /// Checks that the table is that of a tree with keys and values of these sizes.
    ///
    /// # Errors
    ///
    /// The table is damaged, or of other sizes.
    pub fn check(&self, source: &impl Source, name: &str, key: u32, value: u32) -> Result<()> {
        let words = source.words::<TABLE_WORDS>(self.table)?;
        ensure(words[0] == MAGIC, || {
            Error::damaged("a B-tree's table is damaged")
        })?;
        let same = words[1] == Self::new_table(key, value)[1];
        ensure(same, || of_others(name, words[1]))
    }

    /// Returns how often the tree was changed.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Returns the value of a key.
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
        if let Some(leaf) = self.leaf::<K>(source, key)?
            && let Ok(entry) = self.find::<K>(source, &leaf, key)?
        {
            return self.value::<V>(source, &leaf, entry).map(Some);
        }
        Ok(None)
    }

    /// Returns the value of an entry.
    ///
    /// # Errors
    ///
    /// The node is damaged, or the bytes are not a valid value.
    #[inline]
    pub fn value<V: Value + ?Sized>(
        &self,
        source: &impl Source,
        leaf: &Head,
        entry: usize,
    ) -> Result<V::Owned> {
        let stored = self.stored(source, leaf, leaf.entry(entry))?;
        stored.read::<V>(source)
    }

    /// Returns the number of entries, of which `added` were added since the heap was opened; counts them
    /// the first time.
    ///
    /// # Errors
    ///
    /// The tree is damaged.
    pub fn len(&self, source: &impl Source, added: i64) -> Result<u64> {
        if let Some(base) = self.base.get() {
            return Ok((base + added).max(0) as u64);
        }
        let mut found = 0;
        self.walk(source, |head| {
            found += u64::from(head.level == 0) * head.order.len() as u64;
            Ok(())
        })?;
        let _ = self.base.set(found as i64 - added);
        Ok(found)
    }

    /// Returns the offset of each object of the tree once for each time it is reached, for checks.
    ///
    /// # Errors
    ///
    /// The tree is damaged.
    pub fn objects(&self, source: &impl Source) -> Result<Vec<u64>> {
        let mut objects = vec![self.table];
        self.walk(source, |head| {
            objects.push(head.at);
            for entry in 0..head.order.len() {
                let stored = self.stored(source, head, head.entry(entry))?;
                objects.extend(stored.objects(source)?);
            }
            Ok(())
        })?;
        Ok(objects)
    }

    /// Calls `look` with each node.
    fn walk(&self, source: &impl Source, mut look: impl FnMut(&Head) -> Result<()>) -> Result<()> {
        let most = source.bytes() / HEAD_BYTES;
        self.root(source)?.walk(most, |at, level| {
            let head = self.head(source, at, level)?;
            ensure(head.is_sound(), || damaged(at))?;
            look(&head)?;
            let children = 0..head.order.len() * usize::from(level > 0);
            let children = children.map(|child| self.child(source, &head, child));
            children.collect()
        })
    }
}

impl<M: Medium> Guarded<M> for Tree {
    fn guard(&self, _: usize) -> &Guard {
        &self.guard
    }

    fn touch(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }
}

/// Returns the error for a tree with keys and values of other sizes, as a word of its table says.
pub(super) fn of_others(name: &str, bytes: u64) -> Error {
    other_sizes("ordered map", name, bytes as u32, (bytes >> 32) as u32)
}
