//! A persistent hash map.
//!
//! Entries are objects of their own, found through groups of slots; storing the word of a slot makes an
//! entry part of the map. So a new entry costs its own lines, a record and a slot: 5 lines and one fence
//! with keys and values of 64 bytes. `layout` describes how a map lies in the pool, `grow` how its table
//! grows.

mod chain;
mod entry;
mod grow;
mod iter;
mod layout;
mod opened;
mod table;

use std::marker::PhantomData;

use crate::error::Result;
use crate::guard::{Guard, Writing};
use crate::heap::Heap;
use crate::medium::{Mapped, Medium};
use crate::pool::Pool;
use crate::ptr::Place;

use super::container::{Handle, container};
use super::data::{Value, other_sizes, said_bytes};

pub use iter::Iter;
pub use opened::Opened;

use entry::New;
use layout::{FULL, Shape, TABLE_WORDS, groups_for};
use table::Table;

/// The kind of the root of a hash map.
const ROOT_KIND: u16 = 1;
/// Entries for which a new map has room by default.
const CAPACITY: u64 = 256 * FULL;

/// A persistent hash map from `K` to `V`.
///
/// A clone, or the same name opened again, is another handle of the same map. Any number of threads
/// can use a map at the same time. Within a transaction it is used through [`Transaction::open`].
///
/// ```
/// use terrace_heap::containers::HashMap;
/// use terrace_heap::{Heap, Result};
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(4 << 20)?;
///     let capitals = HashMap::<str, str>::open(&heap, "capitals")?;
///     capitals.insert("Italy", "Rome")?;
///     assert_eq!(capitals.get("Italy")?.as_deref(), Some("Rome"));
///     assert_eq!(capitals.remove("Italy")?.as_deref(), Some("Rome"));
///     assert_eq!(capitals.get("Italy")?, None);
///     Ok(())
/// }
/// ```
///
/// [`Transaction::open`]: crate::Transaction::open
pub struct HashMap<K: ?Sized, V: ?Sized, M: Medium = Mapped> {
    table: Handle<Table, M>,
    of: PhantomData<fn(&K) -> &V>,
}

container!(HashMap.table, [K, V], [K: ?Sized, V: ?Sized], [K: Value + ?Sized, V: Value + ?Sized]);

impl<K: Value + ?Sized, V: Value + ?Sized, M: Medium> HashMap<K, V, M> {
    /// Opens the map of this name; makes it if there is none.
    ///
    /// The pool keeps only the sizes of the types: always open a map with the types with which it was
    /// made.
    ///
    /// # Errors
    ///
    /// The root of this name is not a map, or one with keys or values of other sizes; the map is damaged;
    /// this thread is within a transaction; the pool is full, or a fence failed.
    pub fn open(heap: &Heap<M>, name: &str) -> Result<Self> {
        Self::open_with_capacity(heap, name, CAPACITY)
    }

    /// Same as [`HashMap::open`]; a new map has room for about `entries` entries before it grows, if the
    /// pool is large enough, and one lock for each 14 of them, up to 1024.
    ///
    /// # Errors
    ///
    /// Same as [`HashMap::open`].
    pub fn open_with_capacity(heap: &Heap<M>, name: &str, entries: u64) -> Result<Self> {
        let (key, value) = (said_bytes::<K>()?, said_bytes::<V>()?);
        let open = |root: Place<[u64; TABLE_WORDS]>| {
            let (groups, geometry) = (groups_for(entries), &heap.core().space.pool.geometry);
            let new = Shape::new(key, value, groups, geometry);
            let (at, made) = heap.find_or_make(root, |sink| Table::create(sink, &new))?;
            let table = Table::open(heap, at, made)?;
            if made.is_some() {
                table.enlarge(heap, groups)?;
            }
            Ok(table)
        };
        let table = Handle::open(heap, name, ROOT_KIND, open)?;
        let shape = &table.shape;
        if (shape.key_bytes, shape.value_bytes) != (key, value) {
            let (key, value) = (shape.key_bytes, shape.value_bytes);
            return Err(other_sizes("hash map", name, key, value));
        }
        let of = PhantomData;
        Ok(Self { table, of })
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap, or the map is damaged.
    pub fn get(&self, key: &K) -> Result<Option<V::Owned>> {
        let key = key.encode()?;
        let (hash, guard) = self.locate(&key)?;
        let _reading = guard.read()?;
        self.table.get::<V>(self.pool(), hash, &key)
    }

    /// Returns whether there is a value for a key.
    ///
    /// # Errors
    ///
    /// Same as [`HashMap::get`].
    pub fn contains(&self, key: &K) -> Result<bool> {
        let key = key.encode()?;
        let (hash, guard) = self.locate(&key)?;
        let _reading = guard.read()?;
        Ok(self.table.get::<()>(self.pool(), hash, &key)?.is_some())
    }

    /// Sets the value of a key, durably; returns the old value. 5 lines and one fence for a new key with
    /// 64 bytes of key and value each.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; the pool is full, the map is damaged, or a fence
    /// failed.
    pub fn insert(&self, key: &K, value: &V) -> Result<Option<V::Owned>> {
        let (key, value) = (key.encode()?, value.encode()?);
        let (hash, guard) = self.locate(&key)?;
        let (key, value) = (&*key, &*value);
        let new = New { hash, key, value };
        let (mut writing, mut old) = (guard.write()?, None);
        self.table.heap.operate(&mut writing, |sink| {
            self.table.put::<V, _>(sink, new, &mut old)
        })?;
        if old.is_some() {
            return Ok(old);
        }
        writing.added += 1;
        self.grow_if_full(writing);
        Ok(None)
    }

    /// Removes a key, durably, and returns its value. 3 lines and one fence.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; the map is damaged, or a fence failed.
    pub fn remove(&self, key: &K) -> Result<Option<V::Owned>> {
        let key = key.encode()?;
        let (hash, guard) = self.locate(&key)?;
        let (mut writing, mut old) = (guard.write()?, None);
        self.table.heap.operate(&mut writing, |sink| {
            self.table.remove::<V, _>(sink, hash, &key, &mut old)
        })?;
        writing.added -= i64::from(old.is_some());
        Ok(old)
    }

    /// Returns the number of entries, which are counted the first time.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap, or the map is damaged.
    pub fn len(&self) -> Result<u64> {
        self.table.heap.expect_alone()?;
        match self.table.try_read_all() {
            Some(reading) => {
                let added = reading.iter().map(|inside| inside.added).sum();
                self.table.len(self.pool(), added)
            }
            None => self.table.heap.transaction(|tx| tx.open(self)?.len()),
        }
    }

    /// Returns whether it is empty.
    ///
    /// # Errors
    ///
    /// Same as [`HashMap::len`].
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Returns an iterator over all entries, in no order. Each part of the map is read when its turn
    /// comes; an entry may appear twice if other threads change the map meanwhile.
    pub fn iter(&self) -> Iter<'_, K, V, M> {
        Iter::new(self, None)
    }

    /// Returns the offset of each object of the map once for each time it is reached, for checks.
    ///
    /// # Errors
    ///
    /// Same as [`HashMap::len`].
    #[doc(hidden)]
    pub fn objects(&self) -> Result<Vec<u64>> {
        self.table.heap.expect_alone()?;
        match self.table.try_read_all() {
            Some(_reading) => self.table.objects(self.pool()),
            None => self.table.heap.transaction(|tx| tx.open(self)?.objects()),
        }
    }

    /// Returns the hash of a key and its guard, and prefetches its line.
    #[inline(always)]
    fn locate(&self, key: &[u8]) -> Result<(u64, &Guard)> {
        self.table.heap.expect_alone()?;
        let hash = self.table.hash(key);
        self.table.prefetch(self.pool(), hash);
        Ok((hash, &self.table.guards[self.table.number(hash)]))
    }

    /// Grows the table if a guard is full. A failure is ignored: the insertion has succeeded, and a table
    /// that is too full is only slower.
    #[inline]
    fn grow_if_full(&self, writing: Writing) {
        let full = self.table.is_full(writing.added);
        drop(writing);
        if full {
            let _ = self.table.grow(&self.table.heap);
        }
    }

    fn pool(&self) -> &Pool<M> {
        &self.table.heap.core().space.pool
    }
}
