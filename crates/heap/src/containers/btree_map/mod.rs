//! A persistent ordered map: a B+ tree with leaves of a few cache lines.
//!
//! The slots of a leaf are in no order, and a word says which of them are in use (Chen and Jin:
//! Persistent B+-trees in non-volatile main memory, VLDB 2015). So a new entry is written into a free
//! slot, where nobody looks, and that word makes it part of the map: its own lines, an intent and the
//! word, with one fence; and a removal is that word alone. Everything else, as splits, is a
//! transaction. `layout` says where things lie.
//!
//! Any number of threads can use a map at the same time; those that change it take turns.

mod change;
mod iter;
mod layout;
mod node;

use std::marker::PhantomData;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytemuck::Pod;

use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::medium::{Mapped, Medium};
use crate::pool::Pool;

use super::words::Source;
use layout::{Shape, TABLE_WORDS};
use node::{Nodes, Side, Tree};

pub use change::Batch;
pub use iter::Range;

/// The kind of a root that is a B-tree map's.
const ROOT_KIND: u16 = 4;

/// A persistent map from `K` to `V`, both plain data, in the order of the keys.
pub struct BTreeMap<K, V, M: Medium = Mapped> {
    heap: Heap<M>,
    tree: Tree<K, V>,
    /// Whoever changes the map holds off all others. How many entries there are, once they have been
    /// counted.
    count: RwLock<Option<u64>>,
}

impl<K: Pod + Ord, V: Pod, M: Medium> BTreeMap<K, V, M> {
    /// The map of this name; it is made if there is none.
    ///
    /// A map that is open must not be opened again: locks are this one's own.
    ///
    /// # Errors
    ///
    /// The root of this name is something else, or a map of other keys or values; the map is
    /// damaged; there is no room, or a fence failed.
    pub fn open(heap: &Heap<M>, name: &str) -> Result<Self> {
        const { assert!(size_of::<K>() > 0, "keys have bytes") };
        let place = heap.root::<[u64; TABLE_WORDS]>(name, ROOT_KIND)?;
        let mut table = heap.read(place)?;
        if table.is_null() {
            let shape = Shape::new(size_of::<K>(), size_of::<V>());
            table = heap.publish(place, &shape.encode())?;
        }
        let shape = Shape::decode(&heap.read(table)?)?;
        if (shape.key_bytes as usize, shape.value_bytes as usize)
            != (size_of::<K>(), size_of::<V>())
        {
            return Err(Error::usage(format!(
                "the B-tree map {name:?} has keys of {} and values of {} bytes",
                shape.key_bytes, shape.value_bytes
            )));
        }
        Ok(Self {
            heap: heap.clone(),
            tree: Tree {
                shape,
                table: table.offset(),
                of: PhantomData,
            },
            count: RwLock::new(None),
        })
    }

    /// The value of a key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn get(&self, key: &K) -> Result<Option<V>> {
        let _reading = self.read();
        self.tree.get(self.pool(), key)
    }

    /// Gives a key a value, durably; says which one it had. 2 lines besides its own and one fence,
    /// unless the leaf is full.
    ///
    /// # Errors
    ///
    /// A transaction is under way, in which only a batch is allowed; there is no room, the map is
    /// damaged, or a fence failed.
    pub fn insert(&self, key: &K, value: &V) -> Result<Option<V>> {
        let mut count = self.write_alone()?;
        let old = match self.insert_into_slot(key, value)? {
            Some(old) => old,
            None => self
                .heap
                .transaction(|tx| self.tree.insert(tx, key, value))?,
        };
        if let (Some(count), None) = (&mut *count, &old) {
            *count += 1;
        }
        Ok(old)
    }

    /// Writes an entry into a free slot of its leaf, and says what its value was; `None` if there is
    /// no such slot.
    fn insert_into_slot(&self, key: &K, value: &V) -> Result<Option<Option<V>>> {
        let (tree, pool) = (&self.tree, self.pool());
        let Some(path) = tree.descend(pool, Side::Of(key))? else {
            return Ok(None);
        };
        let leaf = path.leaf;
        let used = tree.used(pool, leaf)?;
        if used == tree.shape.all() {
            return Ok(None);
        }
        let (mut now, mut old) = (used, None);
        if let Some(slot) = tree.find(pool, leaf, used, key)? {
            old = Some(tree.value(pool, leaf, slot)?);
            now &= !(1 << slot);
        }
        let slot = used.trailing_ones();
        let at = tree.shape.slot(leaf, slot);
        pool.check(at, tree.shape.stride(), "a B-tree's leaf")?;
        let parts = [bytemuck::bytes_of(key), bytemuck::bytes_of(value)];
        let core = self.heap.core();
        core.fill_slot(at, &parts, &[(leaf, now | 1 << slot)])?;
        Ok(Some(old))
    }

    /// Removes a key and its value, durably; says which one it had. 2 lines and one fence, unless
    /// the leaf becomes empty.
    ///
    /// # Errors
    ///
    /// A transaction is under way, in which only a batch is allowed; the map is damaged, or a fence
    /// failed.
    pub fn remove(&self, key: &K) -> Result<Option<V>> {
        let mut count = self.write_alone()?;
        let (tree, pool) = (&self.tree, self.pool());
        let Some(path) = tree.descend(pool, Side::Of(key))? else {
            return Ok(None);
        };
        let used = tree.used(pool, path.leaf)?;
        let Some(slot) = tree.find(pool, path.leaf, used, key)? else {
            return Ok(None);
        };
        let old = match used & !(1 << slot) {
            0 => self.heap.transaction(|tx| tree.remove(tx, key))?,
            rest => {
                let old = tree.value(pool, path.leaf, slot)?;
                self.heap.core().change(&[(path.leaf, rest)], None)?;
                Some(old)
            }
        };
        if let Some(count) = &mut *count {
            *count -= 1;
        }
        Ok(old)
    }

    /// The entry with the smallest key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn first(&self) -> Result<Option<(K, V)>> {
        self.iter().next().transpose()
    }

    /// The entry with the largest key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn last(&self) -> Result<Option<(K, V)>> {
        let _reading = self.read();
        let (tree, pool) = (&self.tree, self.pool());
        let Some(path) = tree.descend(pool, Side::Last)? else {
            return Ok(None);
        };
        let last = tree.sorted(pool, path.leaf)?.pop();
        last.map(|(key, slot)| Ok((key, tree.value(pool, path.leaf, slot)?)))
            .transpose()
    }

    /// How many entries there are. The first time, and after a batch, they are counted.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn len(&self) -> Result<u64> {
        if let Some(count) = *self.read() {
            return Ok(count);
        }
        let mut count = self.write();
        let mut found = 0;
        for leaf in self.nodes()?.leaves {
            found += u64::from(self.tree.used(self.pool(), leaf)?.count_ones());
        }
        *count = Some(found);
        Ok(found)
    }

    /// Whether there are none.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn is_empty(&self) -> Result<bool> {
        let _reading = self.read();
        Ok(self.tree.root(self.pool())?.node == 0)
    }

    /// The offset of each object of the map as often as it is reached, for checks.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn objects(&self) -> Result<Vec<u64>> {
        let _reading = self.read();
        let Nodes { inner, leaves } = self.nodes()?;
        let objects = [self.tree.table].into_iter().chain(inner).chain(leaves);
        Ok(objects.collect())
    }

    fn nodes(&self) -> Result<Nodes> {
        let most = self.heap.len() / self.tree.shape.leaf_bytes();
        self.tree.nodes(self.pool(), most)
    }

    fn read(&self) -> RwLockReadGuard<'_, Option<u64>> {
        self.count.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Option<u64>> {
        self.count.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// As `write`, for what is no part of a transaction.
    fn write_alone(&self) -> Result<RwLockWriteGuard<'_, Option<u64>>> {
        self.heap.expect_no_transaction("a B-tree map")?;
        Ok(self.write())
    }

    fn pool(&self) -> &Pool<M> {
        &self.heap.core().space.pool
    }
}
