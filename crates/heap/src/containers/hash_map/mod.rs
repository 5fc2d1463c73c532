//! A persistent hash map.
//!
//! Entries are objects of their own, found through groups of slots; storing the word of a slot
//! makes an entry part of the map. So a new entry costs its own lines, a record and a slot: 5 lines
//! and one fence with keys and values of 64 bytes. `layout` describes how a map lies in the pool,
//! `grow` how its table grows.

mod chain;
mod checked;
mod compact;
mod empty;
mod entry;
mod grow;
mod inspect;
mod iter;
mod layout;
mod opened;
mod salvage;
mod sums;
mod table;

use std::any::Any;
use std::marker::PhantomData;

use crate::error::{Result, ensure};
use crate::guard::{Guard, Writing};
use crate::heap::Heap;
use crate::medium::{Mapped, Medium};
use crate::pool::Pool;
use crate::ptr::Place;
use crate::transaction::held::Guarded;

use super::compacting::Compacting;
use super::container::{Handle, container};
use super::data::{Value, other_sizes, said_bytes};
use super::emptying::{Emptying, clear};
use super::inspecting::Inspecting;
use super::salvaging::{Found, Lost};
use super::types::Types;

pub use iter::Iter;
pub use opened::Opened;

use entry::New;
pub(super) use layout::DESCRIBED;
use layout::{FULL, MAGIC, Shape, TABLE_WORDS, groups_for};
use table::Table;

/// The kind of the root of a hash map.
pub(super) const ROOT_KIND: u16 = 1;
/// The magic numbers of tables.
pub(super) const MAGICS: &[u64] = &[MAGIC];

/// Returns the map with a table, whose types are not known.
///
/// # Errors
///
/// The table is damaged.
pub(super) fn unknown<M: Medium>(
    heap: &Heap<M>,
    table: u64,
) -> Result<impl Emptying + Inspecting + Compacting + Guarded<M> + Any + use<M>> {
    Table::open(heap, table, None)
}

/// Makes the map of a root in a new heap, of what can be read of a damaged one; returns how many
/// entries that were.
///
/// # Errors
///
/// The new pool cannot grow, or a fence failed.
pub(super) fn salvage_into<M: Medium, N: Medium>(
    pool: &Pool<M>,
    found: &Found,
    heap: &Heap<N>,
    place: Place<u8>,
    lost: &mut Lost,
) -> Result<u64> {
    let ([key, value], geometry) = (found.sizes(), &heap.core().space.pool.geometry);
    let shape = Shape::new(key, value, groups_for(CAPACITY), geometry);
    let types = &found.types;
    let (at, made) = heap.find_or_make(place, |sink| Table::create(sink, &shape, types))?;
    let (new, mut read) = (Table::open(heap, at, made)?, 0);
    salvage::salvage(pool, found.table, lost, &mut |key, value| {
        read += 1;
        new.add(heap, read, key, value)
    })?;
    Ok(read)
}

/// Entries for which a new map has room by default: its first segment has 4 KiB.
const CAPACITY: u64 = 16 * FULL;

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
    /// A map of format version 1 to 3 has no record of its types. It records those with which it is
    /// opened first.
    ///
    /// # Errors
    ///
    /// The root of this name is not a map, or one that holds other types; the map is damaged;
    /// this thread is within a transaction; the pool is full, or a fence failed.
    pub fn open(heap: &Heap<M>, name: &str) -> Result<Self> {
        Self::open_with_capacity(heap, name, CAPACITY)
    }

    /// Same as [`HashMap::open`]; a new map has room for about `entries` entries before it grows,
    /// if the pool is large enough. A map has one lock for each 14 entries for which it has room
    /// when it is made or opened first, up to 1024; by default a new one has 16.
    ///
    /// # Errors
    ///
    /// Same as [`HashMap::open`].
    pub fn open_with_capacity(heap: &Heap<M>, name: &str, entries: u64) -> Result<Self> {
        let (key, value) = (said_bytes::<K>()?, said_bytes::<V>()?);
        let types = Types::of_map::<K, V>()?;
        let expect_sizes = |shape: &Shape| {
            let (found, wanted) = ((shape.key_bytes, shape.value_bytes), (key, value));
            ensure(found == wanted, || {
                other_sizes("hash map", name, found.0, found.1)
            })
        };
        let open = |root: Place<[u64; TABLE_WORDS]>| {
            let (groups, geometry) = (groups_for(entries), &heap.core().space.pool.geometry);
            let new = Shape::new(key, value, groups, geometry);
            let (at, made) = heap.find_or_make(root, |sink| Table::create(sink, &new, &types))?;
            let mut table = Table::open(heap, at, made)?;
            if !DESCRIBED.expect(&heap.core().space.pool, at, name, &types)? {
                expect_sizes(&table.shape)?;
                table.at = DESCRIBED.record(heap, root, at, &types)?;
            }
            if made.is_some() {
                table.enlarge(heap, groups)?;
            }
            Ok(table)
        };
        let table = Handle::open(heap, name, ROOT_KIND, open)?;
        DESCRIBED.expect(&heap.core().space.pool, table.at, name, &types)?;
        expect_sizes(&table.shape)?;
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
        let found = self.table.get::<V>(self.pool(), hash, &key);
        self.pool().medium.expect_there()?;
        found
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
        let found = self.table.get::<()>(self.pool(), hash, &key);
        self.pool().medium.expect_there()?;
        Ok(found?.is_some())
    }

    /// Sets the value of a key, durably; returns the old value. 5 lines and one fence for a new key
    /// with 64 bytes of key and value each.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; the pool is full, the map is damaged, or a
    /// fence failed.
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

    /// Removes all entries, durably, and frees all that they own, in steps of some hundred objects
    /// with one fence each. No other thread sees a part of them gone, and what a crash leaves of
    /// them is freed when the pool is opened next.
    ///
    /// # Errors
    ///
    /// Same as [`HashMap::remove`].
    pub fn clear(&self) -> Result<()> {
        let table = &self.table;
        table.heap.expect_alone()?;
        table.heap.transaction(|tx| {
            tx.open(self)?.hold_all()?;
            // Threads that grow the map do not wait for guards.
            let mut growth = table.growth.write()?;
            let last = tx.last_operations().into_iter().chain(growth.last);
            let (done, last) = clear(&table.heap, &**table, table.root, last.collect());
            growth.last = last.or(growth.last);
            tx.change_guards(|inside| inside.last = last.or(inside.last));
            done?;
            tx.change_guards(|inside| inside.added = 0);
            table.set_empty();
            Ok(())
        })
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
                let len = self.table.len(self.pool(), added);
                self.pool().medium.expect_there()?;
                len
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

    /// Returns an iterator over all entries, in no order. Each part of the map is read when its
    /// turn comes; an entry may appear twice if other threads change the map meanwhile.
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

    /// Grows the table if a guard is full. A failure is ignored: the insertion has succeeded, and a
    /// table that is too full is only slower.
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
