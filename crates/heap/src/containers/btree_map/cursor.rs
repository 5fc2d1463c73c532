//! Cursors: a position in a map, which moves to the next or the previous entry.

use std::marker::PhantomData;

use crate::error::Result;
use crate::medium::Medium;
use crate::transaction::Transaction;

use super::super::container::Reader;
use super::super::data::{Key, Value};
use super::BTreeMap;
use super::leaf::{Leaf, Way};
use super::node::Side;
use super::tree::Tree;

/// A position in an ordered map: at an entry, before all, or behind all. It lends keys and values
/// without copying them one by one; [`BTreeMap::range`] is easier to use.
///
/// Other threads can change the map meanwhile: the cursor goes on from its key.
///
/// ```
/// use terrace_heap::containers::BTreeMap;
/// use terrace_heap::{Heap, Result};
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(4 << 20)?;
///     let words = BTreeMap::<str, u64>::open(&heap, "words")?;
///     for word in ["fig", "apple", "cherry"] {
///         words.insert(word, &(word.len() as u64))?;
///     }
///     let mut cursor = words.cursor();
///     assert_eq!(cursor.seek("b")?, Some(("cherry", 6)));
///     assert_eq!(cursor.next()?, Some(("fig", 3)));
///     assert_eq!(cursor.next()?, None);
///     assert_eq!(cursor.prev()?, Some(("fig", 3)));
///     Ok(())
/// }
/// ```
pub struct Cursor<'m, K: ?Sized, V: ?Sized, M: Medium> {
    from: Reader<'m, Tree, M>,
    at: At,
    leaf: Leaf,
    /// A value that lies apart.
    apart: Vec<u8>,
    of: PhantomData<fn(&K) -> &V>,
}

/// The key and the value that a cursor lends.
pub type Entry<'c, K, V> = (<K as Value>::View<'c>, <V as Value>::View<'c>);

/// The position of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Not positioned yet.
    Nowhere,
    /// Before the first entry.
    Before,
    /// At an entry of the leaf.
    Entry(usize),
    /// Behind the last entry.
    Behind,
}

impl<'m, K: Key + ?Sized, V: Value + ?Sized, M: Medium> Cursor<'m, K, V, M> {
    pub(super) fn new(map: &'m BTreeMap<K, V, M>, tx: Option<&'m Transaction<'m, M>>) -> Self {
        Self {
            from: map.tree.reader(tx),
            at: At::Nowhere,
            leaf: Leaf::default(),
            apart: Vec::new(),
            of: PhantomData,
        }
    }

    /// Moves to the next entry and returns it, `None` behind the last. A new cursor moves to the
    /// first entry.
    ///
    /// # Errors
    ///
    /// This thread is within a transaction of the heap in which the cursor was not opened, or the
    /// map is damaged.
    #[allow(
        clippy::should_implement_trait,
        reason = "what it lends is valid until the next call"
    )]
    pub fn next(&mut self) -> Result<Option<Entry<'_, K, V>>> {
        self.go(Way::Forth)?;
        self.entry()
    }

    /// Moves to the previous entry and returns it, `None` before the first. A new cursor moves to
    /// the last entry.
    ///
    /// # Errors
    ///
    /// Same as [`Cursor::next`].
    pub fn prev(&mut self) -> Result<Option<Entry<'_, K, V>>> {
        self.go(Way::Back)?;
        self.entry()
    }

    /// Moves to the first entry whose key is not below `key` and returns it; behind the last entry,
    /// and `None`, if there is no such entry.
    ///
    /// # Errors
    ///
    /// Same as [`Cursor::next`].
    pub fn seek(&mut self, key: &K) -> Result<Option<Entry<'_, K, V>>> {
        self.seek_bytes(&key.encode()?, true, Way::Forth)?;
        self.entry()
    }

    /// Moves by one entry.
    #[inline]
    pub(super) fn go(&mut self, way: Way) -> Result<()> {
        match (self.at, way) {
            (At::Behind, Way::Forth) | (At::Before, Way::Back) => Ok(()),
            (At::Entry(entry), _) => self.go_from(entry, way),
            _ => self.go_to_end(way),
        }
    }

    #[inline]
    fn go_from(&mut self, entry: usize, way: Way) -> Result<()> {
        let changed = self.from.changes() != self.leaf.changes;
        let next = match way {
            Way::Forth => Some(entry + 1).filter(|&next| next < self.leaf.len()),
            Way::Back => entry.checked_sub(1),
        };
        match next {
            Some(next) if !changed => {
                self.at = At::Entry(next);
                Ok(())
            }
            None if !changed && self.step(way)? => Ok(()),
            _ => {
                let key = self.leaf.key(entry).to_vec();
                self.seek_bytes(&key, false, way)
            }
        }
    }

    /// Moves to the first entry above a key (or at it), or to the last one below it (or at it).
    pub(super) fn seek_bytes(&mut self, key: &[u8], or_at: bool, way: Way) -> Result<()> {
        loop {
            if !self.load(Side::Of(key))? {
                self.enter(false, way);
                return Ok(());
            }
            let entry = match way {
                Way::Forth => {
                    let below = self.leaf.count_below::<K>(key, !or_at);
                    Some(below).filter(|&entry| entry < self.leaf.len())
                }
                Way::Back => self.leaf.count_below::<K>(key, or_at).checked_sub(1),
            };
            if let Some(entry) = entry {
                self.at = At::Entry(entry);
                return Ok(());
            }
            if self.step(way)? {
                return Ok(());
            }
        }
    }

    /// Moves to the first entry of the map in a direction.
    fn go_to_end(&mut self, way: Way) -> Result<()> {
        let found = self.load(match way {
            Way::Forth => Side::First,
            Way::Back => Side::Last,
        })?;
        self.enter(found, way);
        Ok(())
    }

    /// Moves to the first entry of the leaf in a direction, or beyond the map if there was no leaf.
    fn enter(&mut self, found: bool, way: Way) {
        self.at = match (found, way) {
            (true, Way::Forth) => At::Entry(0),
            (true, Way::Back) => At::Entry(self.leaf.len() - 1),
            (false, Way::Forth) => At::Behind,
            (false, Way::Back) => At::Before,
        };
    }

    /// Moves to the nearest entry of the next leaf, or beyond the last one; returns whether it
    /// could, because the map has not changed since it came to this leaf.
    fn step(&mut self, way: Way) -> Result<bool> {
        let Self { from, leaf, .. } = self;
        let stepped = from.read_unless_changed(leaf.changes, |from| leaf.step(from, from, way))?;
        if let Some(found) = stepped {
            self.enter(found, way);
        }
        Ok(stepped.is_some())
    }

    fn load(&mut self, side: Side) -> Result<bool> {
        let Self { from, leaf, .. } = self;
        from.read(0, |from| leaf.load::<K>(from, from, side, from.changes()))
    }

    /// Returns the bytes of the key at the cursor.
    #[inline]
    pub(super) fn key_bytes(&self) -> Option<&[u8]> {
        match self.at {
            At::Entry(entry) => Some(self.leaf.key(entry)),
            _ => None,
        }
    }

    /// Returns the entry at the cursor; `None` before the first, behind the last, and for a new
    /// cursor.
    ///
    /// # Errors
    ///
    /// Same as [`Cursor::next`].
    pub fn entry(&mut self) -> Result<Option<Entry<'_, K, V>>> {
        let Some((key, value)) = self.entry_bytes()? else {
            return Ok(None);
        };
        Ok(Some((K::view(key)?, V::view(value)?)))
    }

    /// Same as [`Cursor::entry`], for bytes.
    #[inline]
    pub(super) fn entry_bytes(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        // If the map has changed, the place of a value that lies apart may hold something else by
        // now: the cursor then moves to the entry that has the key, or follows it.
        while let At::Entry(entry) = self.at
            && self.leaf.value(entry).is_none()
            && !self.load_apart(entry)?
        {
            let key = self.leaf.key(entry).to_vec();
            self.seek_bytes(&key, true, Way::Forth)?;
        }
        let At::Entry(entry) = self.at else {
            return Ok(None);
        };
        let value = self.leaf.value(entry).unwrap_or(&self.apart);
        Ok(Some((self.leaf.key(entry), value)))
    }

    /// Reads a value that lies apart; returns whether it could, since the map is as it was when the
    /// cursor came to the leaf.
    fn load_apart(&mut self, entry: usize) -> Result<bool> {
        let Self { from, leaf, .. } = self;
        let read = from.read_unless_changed(leaf.changes, |from| leaf.read(from, from, entry))?;
        Ok(read.map(|value| self.apart = value).is_some())
    }
}

impl<M: Medium> Reader<'_, Tree, M> {
    /// Returns how often what it reads was changed.
    #[inline]
    fn changes(&self) -> u64 {
        match self.tx {
            Some(tx) => tx.changes(),
            None => Tree::changes(self),
        }
    }

    /// Reads the tree, unless it was changed since it had this number of changes.
    fn read_unless_changed<R>(
        &self,
        changes: u64,
        work: impl FnOnce(&Self) -> Result<R>,
    ) -> Result<Option<R>> {
        self.read(0, |from| match from.changes() == changes {
            true => work(from).map(Some),
            false => Ok(None),
        })
    }
}
