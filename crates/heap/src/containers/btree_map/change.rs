//! Changes through a transaction: splits, nodes that go, and batches.
//!
//! A node that is full is split in half. One that is empty goes, and none is merged before: nodes are
//! 39 % full where as many entries go as come, more than 62 % where 5 % more come, and change far less
//! often than if they were merged (Johnson and Shasha: B-trees with inserts and deletes: why
//! free-at-empty is better than merge-at-half, JCSS 47(1), 1993).

use bytemuck::Pod;

use crate::error::Result;
use crate::medium::Medium;
use crate::ptr::Ptr;
use crate::transaction::{Hint, Transaction};

use super::layout::{Root, root_at};
use super::node::{Inner, Side, Tree};
use super::{BTreeMap, Source};

/// Changes of a map that happen together; see [`BTreeMap::batch`].
pub struct Batch<'b, 'h, K, V, M: Medium> {
    tree: &'b Tree<K, V>,
    tx: &'b Transaction<'h, M>,
}

impl<K: Pod + Ord, V: Pod, M: Medium> BTreeMap<K, V, M> {
    /// Has `work` change the map, durably, wholly or not at all, with one fence for all. Nobody else
    /// can use the map meanwhile.
    ///
    /// Within a transaction that goes on afterwards it must be the last use of the map: others do
    /// not see it before the outer one commits.
    ///
    /// # Errors
    ///
    /// What `work` returns; the map is damaged, there is no room, or a fence failed.
    pub fn batch<R>(&self, work: impl FnOnce(&Batch<K, V, M>) -> Result<R>) -> Result<R> {
        let mut count = self.write();
        *count = None;
        let tree = &self.tree;
        self.heap.transaction(|tx| work(&Batch { tree, tx }))
    }
}

impl<K: Pod + Ord, V: Pod, M: Medium> Batch<'_, '_, K, V, M> {
    /// The value of a key, with what this batch has changed.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn get(&self, key: &K) -> Result<Option<V>> {
        self.tree.get(self.tx, key)
    }

    /// Gives a key a value; says which one it had.
    ///
    /// # Errors
    ///
    /// There is no room, or the map is damaged.
    pub fn insert(&self, key: &K, value: &V) -> Result<Option<V>> {
        self.tree.insert(self.tx, key, value)
    }

    /// Removes a key and its value; says which one it had.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn remove(&self, key: &K) -> Result<Option<V>> {
        self.tree.remove(self.tx, key)
    }
}

impl<K: Pod + Ord, V: Pod> Tree<K, V> {
    pub fn get(&self, source: &impl Source, key: &K) -> Result<Option<V>> {
        let Some(path) = self.descend(source, Side::Of(key))? else {
            return Ok(None);
        };
        let used = self.used(source, path.leaf)?;
        let slot = self.find(source, path.leaf, used, key)?;
        slot.map(|slot| self.value(source, path.leaf, slot))
            .transpose()
    }

    pub fn insert<M: Medium>(&self, tx: &Transaction<M>, key: &K, value: &V) -> Result<Option<V>> {
        let Some(path) = self.descend(tx, Side::Of(key))? else {
            let node = tx.alloc_bytes(&self.leaf(&[(*key, *value)]))?;
            self.set_root(tx, Root { node, levels: 0 })?;
            return Ok(None);
        };
        let leaf = path.leaf;
        let used = self.used(tx, leaf)?;
        if let Some(slot) = self.find(tx, leaf, used, key)? {
            let old = self.value(tx, leaf, slot)?;
            let bytes = bytemuck::bytes_of(value);
            tx.write_bytes(self.value_at(leaf, slot), bytes, Hint::BySize)?;
            return Ok(Some(old));
        }
        if used != self.shape.all() {
            self.put(tx, leaf, used, key, value)?;
            return Ok(None);
        }
        let keys = self.sorted(tx, leaf)?;
        let (low, high) = keys.split_at(keys.len() / 2);
        let between = high[0].0;
        let mut moved = Vec::with_capacity(high.len() + 1);
        for &(key, slot) in high {
            moved.push((key, self.value(tx, leaf, slot)?));
        }
        let rest = low.iter().fold(0, |used, (_, slot)| used | 1 << slot);
        if *key >= between {
            moved.push((*key, *value));
            tx.set(Ptr::at(leaf), rest)?;
        } else {
            self.put(tx, leaf, rest, key, value)?;
        }
        let new = tx.alloc_bytes(&self.leaf(&moved))?;
        self.add_child(tx, path.steps, between, new)?;
        Ok(None)
    }

    /// Writes an entry into a free slot of a leaf.
    fn put<M: Medium>(
        &self,
        tx: &Transaction<M>,
        leaf: u64,
        used: u64,
        key: &K,
        value: &V,
    ) -> Result<()> {
        let slot = used.trailing_ones();
        let at = self.shape.slot(leaf, slot);
        tx.write_bytes(at, &self.entry(key, value), Hint::BySize)?;
        tx.set(Ptr::at(leaf), used | 1 << slot)
    }

    /// Adds a node behind the one to which the steps lead, with the key between them.
    fn add_child<M: Medium>(
        &self,
        tx: &Transaction<M>,
        mut steps: Vec<(u64, u64)>,
        mut between: K,
        mut new: u64,
    ) -> Result<()> {
        while let Some((node, child)) = steps.pop() {
            let mut inner = self.inner(tx, node)?;
            inner.children.insert(child as usize + 1, new);
            inner.keys.insert(child as usize, between);
            let count = inner.children.len();
            if count <= self.shape.children as usize {
                return self.write_inner(tx, node, &inner);
            }
            let right = Inner {
                children: inner.children.split_off(count / 2),
                keys: inner.keys.split_off(count / 2),
            };
            between = inner.keys.pop().expect("half of the children are several");
            new = tx.alloc_bytes(&self.inner_image(&right))?;
            self.write_inner(tx, node, &inner)?;
        }
        let root = self.root(tx)?;
        let top = Inner {
            children: vec![root.node, new],
            keys: vec![between],
        };
        let node = tx.alloc_bytes(&self.inner_image(&top))?;
        let levels = root.levels + 1;
        self.set_root(tx, Root { node, levels })
    }

    pub fn remove<M: Medium>(&self, tx: &Transaction<M>, key: &K) -> Result<Option<V>> {
        let Some(path) = self.descend(tx, Side::Of(key))? else {
            return Ok(None);
        };
        let leaf = path.leaf;
        let used = self.used(tx, leaf)?;
        let Some(slot) = self.find(tx, leaf, used, key)? else {
            return Ok(None);
        };
        let old = self.value(tx, leaf, slot)?;
        match used & !(1 << slot) {
            0 => self.remove_node(tx, path.steps, leaf)?,
            rest => tx.set(Ptr::at(leaf), rest)?,
        }
        Ok(Some(old))
    }

    /// Removes the node to which the steps lead, and those above it that have no other child.
    fn remove_node<M: Medium>(
        &self,
        tx: &Transaction<M>,
        mut steps: Vec<(u64, u64)>,
        node: u64,
    ) -> Result<()> {
        tx.free(Ptr::<u8>::at(node))?;
        while let Some((node, child)) = steps.pop() {
            let mut inner = self.inner(tx, node)?;
            inner.children.remove(child as usize);
            if inner.children.is_empty() {
                tx.free(Ptr::<u8>::at(node))?;
                continue;
            }
            inner.keys.remove(child.saturating_sub(1) as usize);
            self.write_inner(tx, node, &inner)?;
            return self.lower(tx);
        }
        self.set_root(tx, Root::default())
    }

    /// Removes roots that have only one child.
    fn lower<M: Medium>(&self, tx: &Transaction<M>) -> Result<()> {
        let old = self.root(tx)?;
        let mut root = old;
        while root.levels > 0
            && let [only] = self.inner(tx, root.node)?.children[..]
        {
            tx.free(Ptr::<u8>::at(root.node))?;
            root = Root {
                node: only,
                levels: root.levels - 1,
            };
        }
        match root == old {
            true => Ok(()),
            false => self.set_root(tx, root),
        }
    }

    fn write_inner<M: Medium>(
        &self,
        tx: &Transaction<M>,
        node: u64,
        inner: &Inner<K>,
    ) -> Result<()> {
        tx.write_bytes(node, &self.inner_image(inner), Hint::Object)
    }

    fn set_root<M: Medium>(&self, tx: &Transaction<M>, root: Root) -> Result<()> {
        tx.set(Ptr::at(root_at(self.table)), root.encode())
    }
}
