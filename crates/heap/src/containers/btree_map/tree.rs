//! A tree: the state in DRAM that all its handles share, and reading over any source of words.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::allocator::class::Classes;
use crate::error::{Error, Result, ensure};
use crate::guard::Guard;
use crate::layout::Geometry;
use crate::medium::Medium;
use crate::sink::Source;
use crate::transaction::held::Guarded;

use super::super::apart::Parts;
use super::super::data::{Key, Value, other_sizes};
use super::super::inspecting::{Inspecting, Order};
use super::layout::{HEAD_BYTES, Head, MAGIC, TABLE_WORDS, damaged};

/// Says that entries were not counted yet.
const UNCOUNTED: i64 = i64::MIN;

/// The state of a tree.
pub(super) struct Tree {
    /// Offset of the table.
    pub table: u64,
    pub part: Parts,
    /// Whether contents have checksums.
    pub checked: bool,
    pub classes: Classes,
    pub guard: Guard,
    /// Number of entries when the heap was opened, once they have been counted.
    base: AtomicI64,
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
            part: Parts::of(geometry),
            checked: geometry.checksums,
            classes: Classes::new(geometry.chunk_bytes()),
            guard,
            base: AtomicI64::new(UNCOUNTED),
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
        self.expect_table(source)?;
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

    /// Returns the number of entries; `added` of them were added since the heap was opened. Counts
    /// them the first time.
    ///
    /// # Errors
    ///
    /// The tree is damaged.
    pub fn len(&self, source: &impl Source, added: i64) -> Result<u64> {
        let base = self.base.load(Ordering::Acquire);
        if base != UNCOUNTED {
            return Ok((base + added).max(0) as u64);
        }
        let mut found = 0;
        self.walk(source, |head| {
            found += u64::from(head.level == 0) * head.order.len() as u64;
            Ok(())
        })?;
        self.set_base(found as i64 - added);
        Ok(found)
    }

    /// Notes how many entries the tree had when the heap was opened.
    pub fn set_base(&self, base: i64) {
        self.base.store(base, Ordering::Release);
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

    /// Checks that all keys are in the order of a type.
    ///
    /// # Errors
    ///
    /// They are not: the tree was made with keys of another type. Or it is damaged.
    pub fn expect_order<K: Key + ?Sized>(&self, source: &impl Source, name: &str) -> Result<()> {
        let mut before: Option<Vec<u8>> = None;
        self.walk(source, |head| {
            for entry in 0..head.order.len() * usize::from(head.level == 0) {
                let key = self.key_of(source, head, entry)?;
                let above = |before: &Vec<u8>| K::compare(before, &key).is_lt();
                ensure(before.as_ref().is_none_or(above), || {
                    Error::usage(format!(
                        "the ordered map {name:?} has keys that are not in the order of {}; it was made \
                         with keys of another type",
                        K::identity()
                    ))
                })?;
                before = Some(key);
            }
            Ok(())
        })
    }

    /// Looks at a node and all below it; returns its smallest and its largest key, and adds its
    /// objects.
    fn inspect_node(
        &self,
        source: &impl Source,
        (at, level): (u64, u8),
        order: Order,
        found: &mut Inspection,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        found.objects.push(at);
        ensure((found.objects.len() as u64) < source.bytes() / 8, || {
            damaged(at)
        })?;
        let head = self.head(source, at, level)?;
        ensure(head.is_sound(), || damaged(at))?;
        let mut ends: Option<(Vec<u8>, Vec<u8>)> = None;
        for entry in 0..head.order.len() {
            let key = self.key_of(source, &head, entry)?;
            let (low, high) = if level == 0 {
                let stored = self.stored(source, &head, head.entry(entry))?;
                found.objects.extend(stored.objects(source)?);
                (key.clone(), key)
            } else {
                let child = self.child(source, &head, entry)?;
                let ends = self.inspect_node(source, (child, level - 1), order, found)?;
                if entry > 0 && order(&key, &ends.0).is_gt() {
                    found.wrong.push((
                        at,
                        "a key is not in the part of the tree that its nodes name",
                    ));
                }
                ends
            };
            let Some((_, last)) = &mut ends else {
                ends = Some((low, high));
                continue;
            };
            if order(last, &low).is_ge() {
                found.wrong.push((at, "keys are not in their order"));
            }
            *last = high;
        }
        ends.ok_or_else(|| damaged(at))
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

/// What was found in a tree.
#[derive(Default)]
struct Inspection {
    objects: Vec<u64>,
    wrong: Vec<(u64, &'static str)>,
}

impl Inspecting for Tree {
    fn inspect(
        &self,
        source: &impl Source,
        order: Option<Order>,
        wrong: &mut dyn FnMut(u64, String),
    ) -> Result<Vec<u64>> {
        let mut found = Inspection::default();
        found.objects.push(self.table);
        self.expect_table(source)?;
        let root = self.root(source)?;
        // Keys of another order are not compared.
        let order = order.unwrap_or(|_, _| std::cmp::Ordering::Less);
        if root.node != 0 {
            self.inspect_node(source, (root.node, root.levels as u8), order, &mut found)?;
        }
        for (at, what) in found.wrong {
            wrong(at, format!("{what}, at the node at {at}"));
        }
        Ok(found.objects)
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
