//! An ordered map within a transaction.

use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};

use crate::error::Result;
use crate::medium::Medium;
use crate::transaction::Transaction;

use super::super::data::{Bytewise, Key, Value};
use super::super::emptying::empty;
use super::cursor::Cursor;
use super::iter::Range;
use super::node::Side;
use super::{BTreeMap, bounds_of, bounds_of_prefix};

/// An ordered map within a transaction; see [`Transaction::open`]. The transaction holds all of it
/// until it ends.
pub struct Opened<'t, K: ?Sized, V: ?Sized, M: Medium> {
    pub(super) of: &'t BTreeMap<K, V, M>,
    pub(super) tx: &'t Transaction<'t, M>,
}

impl<'t, K: Key + ?Sized, V: Value + ?Sized, M: Medium> Opened<'t, K, V, M> {
    /// Returns the value of a key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn get(&self, key: &K) -> Result<Option<V::Owned>> {
        self.of.tree.get::<K, V>(&self.tx, &key.encode()?)
    }

    /// Returns whether there is a value for a key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn contains(&self, key: &K) -> Result<bool> {
        let found = self.of.tree.get::<K, ()>(&self.tx, &key.encode()?)?;
        Ok(found.is_some())
    }

    /// Sets the value of a key; returns the old value.
    ///
    /// # Errors
    ///
    /// The key has more than 16 KiB, the pool is full, or the map is damaged.
    pub fn insert(&self, key: &K, value: &V) -> Result<Option<V::Owned>> {
        let (key, value) = (key.encode()?, value.encode()?);
        let tree = &self.of.tree;
        let old = self
            .tx
            .change(|sink| tree.insert::<K, V, _>(sink, &key, &value))?;
        self.tx.count(&tree.guard, i64::from(old.is_none()));
        Ok(old)
    }

    /// Removes a key and returns its value.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn remove(&self, key: &K) -> Result<Option<V::Owned>> {
        let (tree, key) = (&self.of.tree, key.encode()?);
        let old = self.tx.change(|sink| tree.remove::<K, V, _>(sink, &key))?;
        self.tx.count(&tree.guard, -i64::from(old.is_some()));
        Ok(old)
    }

    /// Removes the entry with the smallest key, and returns it.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn pop_first(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.pop(Side::First)
    }

    /// Removes the entry with the largest key, and returns it.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn pop_last(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.pop(Side::Last)
    }

    fn pop(&self, side: Side) -> Result<Option<(K::Owned, V::Owned)>> {
        let tree = &self.of.tree;
        let old = self.tx.change(|sink| tree.pop::<K, V, _>(sink, side))?;
        self.tx.count(&tree.guard, -i64::from(old.is_some()));
        Ok(old)
    }

    /// Removes all entries, at the commit. The transaction has a place in the log for each object.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn clear(&self) -> Result<()> {
        let (tree, len) = (&self.of.tree, self.len()?);
        self.tx.change(|sink| empty(&**tree, sink))?;
        self.tx.count(&tree.guard, -(len as i64));
        Ok(())
    }

    /// Returns the entry with the smallest key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn first(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.iter().next().transpose()
    }

    /// Returns the entry with the largest key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn last(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.iter().next_back().transpose()
    }

    /// Returns an iterator over all entries in the order of their keys, from either end.
    pub fn iter(&self) -> Range<'t, K, V, M> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        Range::new(self.of, Some(self.tx), all)
    }

    /// Returns an iterator over the entries with keys in a range, in their order, from either end.
    ///
    /// # Errors
    ///
    /// Serde cannot serialize a key of the range.
    pub fn range<Q: Borrow<K>>(&self, range: impl RangeBounds<Q>) -> Result<Range<'t, K, V, M>> {
        Ok(Range::new(self.of, Some(self.tx), bounds_of(range)?))
    }

    /// Returns an iterator over the entries whose keys begin with the bytes of `prefix`, in their
    /// order.
    pub fn prefix(&self, prefix: &K) -> Range<'t, K, V, M>
    where
        K: Bytewise,
    {
        Range::new(self.of, Some(self.tx), bounds_of_prefix(prefix))
    }

    /// Returns a new cursor, which is not positioned yet.
    pub fn cursor(&self) -> Cursor<'t, K, V, M> {
        Cursor::new(self.of, Some(self.tx))
    }

    /// Returns the number of entries, which are counted the first time.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn len(&self) -> Result<u64> {
        let tree = &self.of.tree;
        tree.len(&self.tx, self.tx.added(&tree.guard))
    }

    /// Returns whether it is empty.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.of.tree.root(&self.tx)?.node == 0)
    }
}
