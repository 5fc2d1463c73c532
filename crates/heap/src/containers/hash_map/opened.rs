//! A map within a transaction.

use std::sync::Arc;

use crate::error::Result;
use crate::guard::Guard;
use crate::heap::Heap;
use crate::medium::Medium;
use crate::transaction::Transaction;
use crate::transaction::held::Guarded;

use super::super::container::{Container, sealed};
use super::super::data::Value;
use super::HashMap;
use super::chain::Search;
use super::iter::Iter;

/// A map within a transaction; see [`Transaction::open`]. The transaction holds only the entries that it
/// uses, and those that share a lock with them.
pub struct Opened<'t, K: ?Sized, V: ?Sized, M: Medium> {
    map: &'t HashMap<K, V, M>,
    tx: &'t Transaction<'t, M>,
}

impl<K: ?Sized, V: ?Sized, M: Medium> sealed::Sealed for HashMap<K, V, M> {}

impl<K: Value + ?Sized, V: Value + ?Sized, M: Medium> Container<M> for HashMap<K, V, M> {
    type Opened<'t>
        = Opened<'t, K, V, M>
    where
        Self: 't,
        M: 't;

    fn heap(&self) -> &Heap<M> {
        &self.heap
    }

    fn open_in<'t>(&'t self, tx: &'t Transaction<'_, M>) -> Result<Opened<'t, K, V, M>> {
        Ok(Opened { map: self, tx })
    }
}

impl<'t, K: Value + ?Sized, V: Value + ?Sized, M: Medium> Opened<'t, K, V, M> {
    /// Returns the value of a key.
    ///
    /// # Errors
    ///
    /// An older transaction holds the entry, or the map is damaged.
    pub fn get(&self, key: &K) -> Result<Option<V::Owned>> {
        let key = key.encode()?;
        let (hash, _) = self.hold(&key)?;
        self.map.table.get::<V>(&self.tx, hash, &key)
    }

    /// Returns whether there is a value for a key.
    ///
    /// # Errors
    ///
    /// Same as [`Opened::get`].
    pub fn contains(&self, key: &K) -> Result<bool> {
        let key = key.encode()?;
        let (hash, _) = self.hold(&key)?;
        let found = self.map.table.find(&self.tx, hash, &key)?;
        Ok(matches!(found, Search::Found { .. }))
    }

    /// Sets the value of a key; returns the old value.
    ///
    /// # Errors
    ///
    /// An older transaction holds the entry, the pool is full, or the map is damaged.
    pub fn insert(&self, key: &K, value: &V) -> Result<Option<V::Owned>> {
        let (key, value) = (key.encode()?, value.encode()?);
        let (hash, guard) = self.hold(&key)?;
        let (table, mut old) = (&self.map.table, None);
        self.tx
            .change(|sink| table.put::<V, _>(sink, hash, (&key, &value), &mut old))?;
        if old.is_none() {
            self.tx.count(guard, 1);
        }
        Ok(old)
    }

    /// Removes a key and returns its value.
    ///
    /// # Errors
    ///
    /// An older transaction holds the entry, or the map is damaged.
    pub fn remove(&self, key: &K) -> Result<Option<V::Owned>> {
        let key = key.encode()?;
        let (hash, guard) = self.hold(&key)?;
        let (table, mut old) = (&self.map.table, None);
        self.tx
            .change(|sink| table.remove::<V, _>(sink, hash, &key, &mut old))?;
        if old.is_some() {
            self.tx.count(guard, -1);
        }
        Ok(old)
    }

    /// Returns the number of entries. The transaction holds the whole map from now on.
    ///
    /// # Errors
    ///
    /// An older transaction holds a part of the map, or the map is damaged.
    pub fn len(&self) -> Result<u64> {
        self.hold_all()?;
        let guards = self.map.table.guards();
        let came = guards.iter().map(|guard| self.tx.came(guard)).sum();
        self.map.table.len(&self.tx, came)
    }

    /// Returns whether it is empty.
    ///
    /// # Errors
    ///
    /// Same as [`Opened::len`].
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Returns an iterator over all entries, in no order. The transaction holds the whole map from now
    /// on. Changes to a part that was passed already do not appear.
    ///
    /// # Errors
    ///
    /// An older transaction holds a part of the map.
    pub fn iter(&self) -> Result<Iter<'t, K, V, M>> {
        self.hold_all()?;
        Ok(Iter::of_transaction(self.tx, &self.map.table))
    }

    /// Same as [`HashMap::objects`].
    pub(super) fn objects(&self) -> Result<Vec<u64>> {
        self.hold_all()?;
        self.map.table.objects(&self.tx)
    }

    /// Holds the guard of a key; returns its hash and the guard.
    fn hold(&self, key: &[u8]) -> Result<(u64, &'t Guard)> {
        let table = &self.map.table;
        let hash = table.hash(key);
        let number = table.number(hash);
        let of: Arc<dyn Guarded<M>> = Arc::clone(table) as _;
        self.tx.hold(&of, number)?;
        Ok((hash, &table.guards()[number]))
    }

    fn hold_all(&self) -> Result<()> {
        let of: Arc<dyn Guarded<M>> = Arc::clone(&self.map.table) as _;
        let numbers = 0..self.map.table.guards().len();
        numbers
            .into_iter()
            .try_for_each(|number| self.tx.hold(&of, number))
    }
}
