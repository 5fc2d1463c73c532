//! A map within a transaction.

use std::sync::Arc;

use crate::error::Result;
use crate::guard::Guard;
use crate::heap::Heap;
use crate::medium::Medium;
use crate::transaction::Transaction;
use crate::transaction::held::Guarded;

use super::super::data::Value;
use super::super::{Container, sealed};
use super::HashMap;
use super::chain::Search;
use super::iter::Iter;

/// A map within a transaction; see [`Transaction::open`]. Only the entries that are used, and those
/// that share a lock with them, are closed to others.
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
    /// The value of a key.
    ///
    /// # Errors
    ///
    /// An older transaction holds it, or the map is damaged.
    pub fn get(&self, key: &K) -> Result<Option<V::Owned>> {
        let key = key.encode()?;
        let (hash, _) = self.hold(&key)?;
        self.map.table.get::<V>(&self.tx, hash, &key)
    }

    /// Whether there is a value for a key.
    ///
    /// # Errors
    ///
    /// As [`Opened::get`].
    pub fn contains(&self, key: &K) -> Result<bool> {
        let key = key.encode()?;
        let (hash, _) = self.hold(&key)?;
        let found = self.map.table.find(&self.tx, hash, &key)?;
        Ok(matches!(found, Search::Found { .. }))
    }

    /// Gives a key a value; returns the one it had.
    ///
    /// # Errors
    ///
    /// An older transaction holds it, there is no room, or the map is damaged.
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

    /// Removes a key and its value; returns the value.
    ///
    /// # Errors
    ///
    /// An older transaction holds it, or the map is damaged.
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

    /// How many entries there are. The whole map is closed to others from now on.
    ///
    /// # Errors
    ///
    /// An older transaction holds a part of the map, or it is damaged.
    pub fn len(&self) -> Result<u64> {
        self.hold_all()?;
        let guards = self.map.table.guards();
        let came = guards.iter().map(|guard| self.tx.came(guard)).sum();
        self.map.table.len(&self.tx, came)
    }

    /// Whether there are none.
    ///
    /// # Errors
    ///
    /// As [`Opened::len`].
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// All entries, in no order. The whole map is closed to others from now on. What is changed in a
    /// part that was passed already is not shown.
    ///
    /// # Errors
    ///
    /// An older transaction holds a part of the map.
    pub fn iter(&self) -> Result<Iter<'t, K, V, M>> {
        self.hold_all()?;
        Ok(Iter::of_transaction(self.tx, &self.map.table))
    }

    /// As [`HashMap::objects`].
    pub(super) fn objects(&self) -> Result<Vec<u64>> {
        self.hold_all()?;
        self.map.table.objects(&self.tx)
    }

    /// Holds the guard of a key; says its hash as well.
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
