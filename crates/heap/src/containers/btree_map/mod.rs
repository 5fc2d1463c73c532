//! A persistent ordered map: a B-tree.
//!
//! Any number of threads can use a map at the same time; writers take turns. `layout` describes how
//! it lies in the pool, `node` and `tree` read it, `change` changes it.

mod change;
mod compact;
mod cursor;
mod iter;
mod layout;
mod leaf;
mod node;
mod old;
mod opened;
mod salvage;
mod sums;
mod tree;

use std::any::Any;
use std::borrow::Borrow;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use crate::error::{Error, Result, ensure};
use crate::guard::Guard;
use crate::heap::Heap;
use crate::layout::Geometry;
use crate::medium::{Mapped, Medium};
use crate::pool::Pool;
use crate::ptr::Place;
use crate::sink::Source;
use crate::transaction::held::Guarded;

use super::compacting::Compacting;
use super::container::{Handle, container};
use super::data::{Bytewise, Key, Value, said_bytes};
use super::emptying::Emptying;
use super::inspecting::Inspecting;
use super::salvaging::{Found, Lost, guard};
use super::types::Types;

pub use cursor::{Cursor, Entry};
pub use iter::Range;
pub use opened::Opened;

pub(super) use layout::DESCRIBED;
use layout::{MAGIC, TABLE_WORDS};
use node::Side;
use tree::Tree;

/// The kind of the root of an ordered map.
pub(super) const ROOT_KIND: u16 = 4;
/// The magic numbers of tables.
pub(super) const MAGICS: &[u64] = &[MAGIC];

/// Returns the tree with a table, whose types are not known.
pub(super) fn unknown<M: Medium>(
    table: u64,
    geometry: &Geometry,
    guard: Guard,
) -> impl Emptying + Inspecting + Compacting + Guarded<M> + Any + use<M> {
    Tree::new(table, geometry, guard)
}

/// Makes the tree of a root in a new heap, of what can be read of a damaged one; returns how many
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
    let old = Tree::new(found.table, &pool.geometry, guard());
    let [key, value] = found.sizes();
    let words = DESCRIBED.with_types(&Tree::new_table(key, value), &found.types);
    let (table, _) = heap.find_or_make_table(place, &words, sums::sealed)?;
    let new = Tree::new(table, &heap.core().space.pool.geometry, guard());
    let (mut builder, mut read) = (new.builder(heap), 0);
    old.salvage(pool, found.order(), lost, &mut |key, value| {
        read += 1;
        builder.add(key, value)
    })?;
    builder.finish()?;
    Ok(read)
}

/// A persistent ordered map from `K` to `V`.
///
/// A clone, or the same name opened again, is another handle of the same map. Within a transaction
/// it is used through [`Transaction::open`](crate::Transaction::open).
///
/// ```
/// use terrace_heap::containers::BTreeMap;
/// use terrace_heap::{Heap, Result};
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(4 << 20)?;
///     let users = BTreeMap::<str, u64>::open(&heap, "users")?;
///     for (name, age) in [("carl", 40), ("anna", 30), ("anton", 50)] {
///         users.insert(name, &age)?;
///     }
///     let names = |range: Vec<(String, u64)>| -> Vec<String> {
///         range.into_iter().map(|(name, _)| name).collect()
///     };
///     let all = users.iter().collect::<Result<Vec<_>>>()?;
///     assert_eq!(names(all), ["anna", "anton", "carl"]);
///     let from_b = users.range("b"..)?.collect::<Result<Vec<_>>>()?;
///     assert_eq!(names(from_b), ["carl"]);
///     let with_an = users.prefix("an").rev().collect::<Result<Vec<_>>>()?;
///     assert_eq!(names(with_an), ["anton", "anna"]);
///     Ok(())
/// }
/// ```
pub struct BTreeMap<K: ?Sized, V: ?Sized, M: Medium = Mapped> {
    tree: Handle<Tree, M>,
    of: PhantomData<fn(&K) -> &V>,
}

container!(BTreeMap.tree, [K, V], [K: ?Sized, V: ?Sized], [K: Key + ?Sized, V: Value + ?Sized]);

impl<K: Key + ?Sized, V: Value + ?Sized, M: Medium> BTreeMap<K, V, M> {
    /// Opens the map of this name; makes it if there is none. A map of format version 1 or 2 is
    /// converted, for which the pool needs room for both.
    ///
    /// A map of format version 1 to 3 has no record of its types. It records those with which it is
    /// opened first, if its keys are in the order of `K`.
    ///
    /// # Errors
    ///
    /// The root of this name is not a map, or one that holds other types; the map is damaged; this
    /// thread is within a transaction; the pool is full, or a fence failed.
    pub fn open(heap: &Heap<M>, name: &str) -> Result<Self> {
        const { assert!(!matches!(K::BYTES, Some(0)), "keys have bytes") };
        let (key, value) = (said_bytes::<K>()?, said_bytes::<V>()?);
        let types = Types::of_map::<K, V>()?;
        let tree = Handle::open(heap, name, ROOT_KIND, |root: Place<[u64; TABLE_WORDS]>| {
            let pool = &heap.core().space.pool;
            let words = DESCRIBED.with_types(&Tree::new_table(key, value), &types);
            let new = |table, made| Tree::new(table, &pool.geometry, Guard::new(made));
            let (mut table, made) = heap.find_or_make_table(root, &words, sums::sealed)?;
            if let Some(bytes) = old::sizes(&pool.words(table)?) {
                ensure(bytes == words[1], || tree::of_others(name, bytes))?;
                table = heap.convert(root, table, |sink, table| {
                    old::convert::<K, V, _>(sink, table, &words, |table| new(table, None))
                })?;
            }
            let mut tree = new(table, made);
            if !DESCRIBED.expect(pool, table, name, &types)? {
                tree.check(pool, name, key, value)?;
                tree.expect_order::<K>(pool, name)?;
                tree.table = DESCRIBED.record(heap, root, table, &types)?;
            }
            Ok(tree)
        })?;
        tree.read(0, |pool| {
            DESCRIBED.expect(pool, tree.table, name, &types)?;
            tree.check(pool, name, key, value)
        })?;
        let of = PhantomData;
        Ok(Self { tree, of })
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap, or the map is damaged.
    pub fn get(&self, key: &K) -> Result<Option<V::Owned>> {
        let key = key.encode()?;
        self.tree.read(0, |pool| self.tree.get::<K, V>(pool, &key))
    }

    /// Returns whether there is a value for a key.
    ///
    /// # Errors
    ///
    /// Same as [`BTreeMap::get`].
    pub fn contains(&self, key: &K) -> Result<bool> {
        let key = key.encode()?;
        let found = self.tree.read(0, |pool| self.tree.get::<K, ()>(pool, &key));
        Ok(found?.is_some())
    }

    /// Sets the value of a key, durably; returns the old value. 3 lines besides its own and one
    /// fence, unless the leaf is full.
    ///
    /// # Errors
    ///
    /// The key has more than 16 KiB; this thread is within a transaction of the heap; the pool is
    /// full, the map is damaged, or a fence failed.
    pub fn insert(&self, key: &K, value: &V) -> Result<Option<V::Owned>> {
        let (key, value) = (key.encode()?, value.encode()?);
        self.tree.write_counted(
            |sink| self.tree.insert::<K, V, _>(sink, &key, &value),
            |old| i64::from(old.is_none()),
        )
    }

    /// Removes a key, durably, and returns its value. 2 lines and one fence, unless the leaf
    /// becomes empty.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap; the map is damaged, or a fence failed.
    pub fn remove(&self, key: &K) -> Result<Option<V::Owned>> {
        let key = key.encode()?;
        self.tree.write_counted(
            |sink| self.tree.remove::<K, V, _>(sink, &key),
            |old| -i64::from(old.is_some()),
        )
    }

    /// Removes the entry with the smallest key, durably, and returns it; as [`BTreeMap::remove`].
    ///
    /// # Errors
    ///
    /// Same as [`BTreeMap::remove`].
    pub fn pop_first(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.pop(Side::First)
    }

    /// Removes the entry with the largest key, durably, and returns it; as [`BTreeMap::remove`].
    ///
    /// # Errors
    ///
    /// Same as [`BTreeMap::remove`].
    pub fn pop_last(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.pop(Side::Last)
    }

    fn pop(&self, side: Side) -> Result<Option<(K::Owned, V::Owned)>> {
        self.tree.write_counted(
            |sink| self.tree.pop::<K, V, _>(sink, side),
            |old| -i64::from(old.is_some()),
        )
    }

    /// Removes all entries, durably, and frees all that they own, in steps of some hundred objects
    /// with one fence each. No other thread sees a part of them gone, and what a crash leaves of
    /// them is freed when the pool is opened next.
    ///
    /// # Errors
    ///
    /// Same as [`BTreeMap::remove`].
    pub fn clear(&self) -> Result<()> {
        self.tree.clear(|tree, added| tree.set_base(-added))
    }

    /// Returns the entry with the smallest key.
    ///
    /// # Errors
    ///
    /// Same as [`BTreeMap::get`].
    pub fn first(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.iter().next().transpose()
    }

    /// Returns the entry with the largest key.
    ///
    /// # Errors
    ///
    /// Same as [`BTreeMap::get`].
    pub fn last(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.iter().next_back().transpose()
    }

    /// Returns an iterator over all entries in the order of their keys, from either end. Each leaf
    /// is read when its turn comes, so other threads can change the map meanwhile.
    pub fn iter(&self) -> Range<'_, K, V, M> {
        Range::new(self, None, (Bound::Unbounded, Bound::Unbounded))
    }

    /// Returns an iterator over the entries with keys in a range, like [`BTreeMap::iter`]; empty if
    /// the range ends before it begins.
    ///
    /// # Errors
    ///
    /// Serde cannot serialize a key of the range.
    pub fn range<Q: Borrow<K>>(&self, range: impl RangeBounds<Q>) -> Result<Range<'_, K, V, M>> {
        Ok(Range::new(self, None, bounds_of(range)?))
    }

    /// Returns an iterator over the entries whose keys begin with the bytes of `prefix`, like
    /// [`BTreeMap::iter`].
    pub fn prefix(&self, prefix: &K) -> Range<'_, K, V, M>
    where
        K: Bytewise,
    {
        Range::new(self, None, bounds_of_prefix(prefix))
    }

    /// Returns a new cursor, which is not positioned yet.
    pub fn cursor(&self) -> Cursor<'_, K, V, M> {
        Cursor::new(self, None)
    }

    /// Returns the number of entries, which are counted the first time.
    ///
    /// # Errors
    ///
    /// Same as [`BTreeMap::get`].
    pub fn len(&self) -> Result<u64> {
        self.tree.heap.expect_alone()?;
        let reading = self.tree.guard.read()?;
        let pool = &self.tree.heap.core().space.pool;
        let len = self.tree.len(pool, reading.added);
        pool.medium.expect_there()?;
        len
    }

    /// Returns whether it is empty.
    ///
    /// # Errors
    ///
    /// Same as [`BTreeMap::get`].
    pub fn is_empty(&self) -> Result<bool> {
        self.tree
            .read(0, |pool| Ok(self.tree.root(pool)?.node == 0))
    }

    /// Returns the offset of each object of the map once for each time it is reached, for checks.
    ///
    /// # Errors
    ///
    /// Same as [`BTreeMap::get`].
    #[doc(hidden)]
    pub fn objects(&self) -> Result<Vec<u64>> {
        self.tree.read(0, |pool| self.tree.objects(pool))
    }
}

/// The first key and the last, as bytes.
type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Returns the bounds of a range.
fn bounds_of<K: Key + ?Sized, Q: Borrow<K>>(range: impl RangeBounds<Q>) -> Result<Bounds> {
    let bytes = |bound: Bound<&Q>| {
        let encode = |key: &Q| Ok(key.borrow().encode()?.into_owned());
        Ok::<_, Error>(match bound {
            Bound::Included(key) => Bound::Included(encode(key)?),
            Bound::Excluded(key) => Bound::Excluded(encode(key)?),
            Bound::Unbounded => Bound::Unbounded,
        })
    };
    Ok((bytes(range.start_bound())?, bytes(range.end_bound())?))
}

/// Returns the bounds of all keys with a prefix.
fn bounds_of_prefix<K: Bytewise + ?Sized>(prefix: &K) -> Bounds {
    let prefix = prefix.as_key_bytes();
    let end = iter::above_all(prefix).map_or(Bound::Unbounded, Bound::Excluded);
    (Bound::Included(prefix.to_vec()), end)
}
