//! A map within a transaction.

use crate::error::Result;
use crate::guard::Guard;
use crate::medium::Medium;
use crate::transaction::Transaction;

use super::super::data::Value;
use super::super::emptying::empty;
use super::HashMap;
use super::entry::New;
use super::iter::Iter;

/// A map within a transaction; see [`Transaction::open`]. The transaction holds only the entries
/// that it uses, and those that share a lock with them.
pub struct Opened<'t, K: ?Sized, V: ?Sized, M: Medium> {
    pub(super) of: &'t HashMap<K, V, M>,
    pub(super) tx: &'t Transaction<'t, M>,
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
        self.of.table.get::<V>(&self.tx, hash, &key)
    }

    /// Returns whether there is a value for a key.
    ///
    /// # Errors
    ///
    /// Same as [`Opened::get`].
    pub fn contains(&self, key: &K) -> Result<bool> {
        let key = key.encode()?;
        let (hash, _) = self.hold(&key)?;
        Ok(self.of.table.get::<()>(&self.tx, hash, &key)?.is_some())
    }

    /// Sets the value of a key; returns the old value.
    ///
    /// # Errors
    ///
    /// An older transaction holds the entry, the pool is full, or the map is damaged.
    pub fn insert(&self, key: &K, value: &V) -> Result<Option<V::Owned>> {
        let (key, value) = (key.encode()?, value.encode()?);
        let (hash, guard) = self.hold(&key)?;
        let (key, value) = (&*key, &*value);
        let new = New { hash, key, value };
        let (table, mut old) = (&self.of.table, None);
        self.tx
            .change(|sink| table.put::<V, _>(sink, new, &mut old))?;
        self.tx.count(guard, i64::from(old.is_none()));
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
        let (table, mut old) = (&self.of.table, None);
        self.tx
            .change(|sink| table.remove::<V, _>(sink, hash, &key, &mut old))?;
        self.tx.count(guard, -i64::from(old.is_some()));
        Ok(old)
    }

    /// Removes all entries, at the commit. The transaction holds the whole map from now on, and has
    /// a place in the log for each object. The table keeps its size.
    ///
    /// # Errors
    ///
    /// An older transaction holds a part of the map, or the map is damaged.
    pub fn clear(&self) -> Result<()> {
        let (table, len) = (&self.of.table, self.len()?);
        self.tx.change(|sink| empty(&**table, sink))?;
        self.tx.count(&table.guards[0], -(len as i64));
        Ok(())
    }

    /// Returns the number of entries. The transaction holds the whole map from now on.
    ///
    /// # Errors
    ///
    /// An older transaction holds a part of the map, or the map is damaged.
    pub fn len(&self) -> Result<u64> {
        self.hold_all()?;
        let guards = &self.of.table.guards;
        let added = guards.iter().map(|guard| self.tx.added(guard)).sum();
        self.of.table.len(&self.tx, added)
    }

    /// Returns whether it is empty.
    ///
    /// # Errors
    ///
    /// Same as [`Opened::len`].
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Returns an iterator over all entries, in no order. The transaction holds the whole map from
    /// now on. Changes to a part that was passed already do not appear.
    ///
    /// # Errors
    ///
    /// An older transaction holds a part of the map.
    pub fn iter(&self) -> Result<Iter<'t, K, V, M>> {
        self.hold_all()?;
        Ok(Iter::new(self.of, Some(self.tx)))
    }

    /// Same as [`HashMap::objects`].
    pub(super) fn objects(&self) -> Result<Vec<u64>> {
        self.hold_all()?;
        self.of.table.objects(&self.tx)
    }

    /// Holds the guard of a key; returns its hash and the guard.
    fn hold(&self, key: &[u8]) -> Result<(u64, &'t Guard)> {
        let table = &self.of.table;
        let hash = table.hash(key);
        let number = table.number(hash);
        table.hold(self.tx, number)?;
        Ok((hash, &table.guards[number]))
    }

    pub(super) fn hold_all(&self) -> Result<()> {
        let table = &self.of.table;
        (0..table.guards.len()).try_for_each(|number| table.hold(self.tx, number))
    }
}
