//! An ordered map within a transaction.

use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::error::Result;
use crate::heap::Heap;
use crate::medium::Medium;
use crate::transaction::Transaction;
use crate::transaction::held::Guarded;

use super::super::data::{Bytewise, Key, Value};
use super::super::{Container, sealed};
use super::cursor::Cursor;
use super::iter::Range;
use super::{BTreeMap, bounds_of, bounds_of_prefix};

/// An ordered map within a transaction; see [`Transaction::open`]. All of it is closed to others.
pub struct Opened<'t, K: ?Sized, V: ?Sized, M: Medium> {
    map: &'t BTreeMap<K, V, M>,
    tx: &'t Transaction<'t, M>,
}

impl<K: ?Sized, V: ?Sized, M: Medium> sealed::Sealed for BTreeMap<K, V, M> {}

impl<K: Key + ?Sized, V: Value + ?Sized, M: Medium> Container<M> for BTreeMap<K, V, M> {
    type Opened<'t>
        = Opened<'t, K, V, M>
    where
        Self: 't,
        M: 't;

    fn heap(&self) -> &Heap<M> {
        &self.heap
    }

    fn open_in<'t>(&'t self, tx: &'t Transaction<'_, M>) -> Result<Opened<'t, K, V, M>> {
        let of: Arc<dyn Guarded<M>> = Arc::clone(&self.tree) as _;
        tx.hold(&of, 0)?;
        Ok(Opened { map: self, tx })
    }
}

impl<'t, K: Key + ?Sized, V: Value + ?Sized, M: Medium> Opened<'t, K, V, M> {
    /// The value of a key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn get(&self, key: &K) -> Result<Option<V::Owned>> {
        self.map.tree.get::<K, V>(&self.tx, &key.encode()?)
    }

    /// Whether there is a value for a key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn contains(&self, key: &K) -> Result<bool> {
        self.map.tree.contains::<K>(&self.tx, &key.encode()?)
    }

    /// Gives a key a value; returns the one it had.
    ///
    /// # Errors
    ///
    /// The key has more than 16 KiB, there is no room, or the map is damaged.
    pub fn insert(&self, key: &K, value: &V) -> Result<Option<V::Owned>> {
        let (key, value) = (key.encode()?, value.encode()?);
        let tree = &self.map.tree;
        let old = self
            .tx
            .change(|sink| tree.insert::<K, V, _>(sink, &key, &value))?;
        if old.is_none() {
            self.tx.count(&tree.guard, 1);
        }
        Ok(old)
    }

    /// Removes a key and its value; returns the value.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn remove(&self, key: &K) -> Result<Option<V::Owned>> {
        let (tree, key) = (&self.map.tree, key.encode()?);
        let old = self.tx.change(|sink| tree.remove::<K, V, _>(sink, &key))?;
        if old.is_some() {
            self.tx.count(&tree.guard, -1);
        }
        Ok(old)
    }

    /// The entry with the smallest key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn first(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.iter().next().transpose()
    }

    /// The entry with the largest key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn last(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.iter().next_back().transpose()
    }

    /// All entries in the order of their keys, from either end.
    pub fn iter(&self) -> Range<'t, K, V, M> {
        let cursors = [self.cursor(), self.cursor()];
        Range::new(cursors, (Bound::Unbounded, Bound::Unbounded))
    }

    /// The entries of which the keys are in a range, in their order, from either end.
    ///
    /// # Errors
    ///
    /// A key of the range has no bytes: serde refuses it.
    pub fn range<Q: Borrow<K>>(&self, range: impl RangeBounds<Q>) -> Result<Range<'t, K, V, M>> {
        Ok(Range::new(
            [self.cursor(), self.cursor()],
            bounds_of(range)?,
        ))
    }

    /// The entries of which the keys begin with the bytes of this one, in their order.
    pub fn prefix(&self, prefix: &K) -> Range<'t, K, V, M>
    where
        K: Bytewise,
    {
        Range::new([self.cursor(), self.cursor()], bounds_of_prefix(prefix))
    }

    /// A cursor that is nowhere yet.
    pub fn cursor(&self) -> Cursor<'t, K, V, M> {
        Cursor::new(self.map, Some(self.tx))
    }

    /// How many entries there are. The first time they are counted.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn len(&self) -> Result<u64> {
        let tree = &self.map.tree;
        tree.len(&self.tx, self.tx.came(&tree.guard))
    }

    /// Whether there are none.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.map.tree.root(&self.tx)?.node == 0)
    }
}
