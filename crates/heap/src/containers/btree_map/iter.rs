//! Entries in the order of their keys, from either end.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::error::Result;
use crate::medium::Medium;
use crate::transaction::Transaction;

use super::super::data::{Key, Value};
use super::cursor::Cursor;
use super::leaf::Way;
use super::{BTreeMap, Bounds};

/// An iterator over entries of a map in ascending order; see [`BTreeMap::range`].
pub struct Range<'m, K: ?Sized, V: ?Sized, M: Medium> {
    front: End<'m, K, V, M>,
    back: End<'m, K, V, M>,
    done: bool,
}

/// One end of a range.
struct End<'m, K: ?Sized, V: ?Sized, M: Medium> {
    /// A position at the last entry that was returned at this end.
    cursor: Cursor<'m, K, V, M>,
    /// The bound of the range at this end.
    bound: Bound<Vec<u8>>,
    begun: bool,
}

impl<'m, K: Key + ?Sized, V: Value + ?Sized, M: Medium> Range<'m, K, V, M> {
    pub(super) fn new(
        map: &'m BTreeMap<K, V, M>,
        tx: Option<&'m Transaction<'m, M>>,
        bounds: Bounds,
    ) -> Self {
        let end = |bound| End {
            cursor: Cursor::new(map, tx),
            bound,
            begun: false,
        };
        Self {
            front: end(bounds.0),
            back: end(bounds.1),
            done: false,
        }
    }

    fn step(&mut self, way: Way) -> Result<Option<(K::Owned, V::Owned)>> {
        let (near, far) = match way {
            Way::Forth => (&mut self.front, &self.back),
            Way::Back => (&mut self.back, &self.front),
        };
        if self.done {
            return Ok(None);
        }
        match (near.begun, &near.bound) {
            (true, _) | (false, Bound::Unbounded) => near.cursor.go(way)?,
            (false, Bound::Included(key)) => near.cursor.seek_bytes(key, true, way)?,
            (false, Bound::Excluded(key)) => near.cursor.seek_bytes(key, false, way)?,
        }
        near.begun = true;
        let within = near.cursor.key_bytes().is_some_and(|key| {
            let order = |bound: &[u8]| match way {
                Way::Forth => K::compare(key, bound),
                Way::Back => K::compare(bound, key),
            };
            match (far.cursor.key_bytes(), &far.bound) {
                (Some(given), _) => order(given) == Ordering::Less,
                (None, Bound::Unbounded) => true,
                (None, Bound::Included(bound)) => order(bound) != Ordering::Greater,
                (None, Bound::Excluded(bound)) => order(bound) == Ordering::Less,
            }
        });
        let entry = match within {
            true => near.cursor.entry_bytes()?,
            false => None,
        };
        let Some((key, value)) = entry else {
            self.done = true;
            return Ok(None);
        };
        Ok(Some((owned::<K>(key)?, owned::<V>(value)?)))
    }

    fn next_of(&mut self, way: Way) -> Option<Result<(K::Owned, V::Owned)>> {
        let found = self.step(way);
        self.done |= found.is_err();
        found.transpose()
    }
}

impl<K: Key + ?Sized, V: Value + ?Sized, M: Medium> Iterator for Range<'_, K, V, M> {
    type Item = Result<(K::Owned, V::Owned)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_of(Way::Forth)
    }
}

impl<K: Key + ?Sized, V: Value + ?Sized, M: Medium> DoubleEndedIterator for Range<'_, K, V, M> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.next_of(Way::Back)
    }
}

fn owned<T: Value + ?Sized>(bytes: &[u8]) -> Result<T::Owned> {
    T::read(bytes.len(), |into| {
        let len = into.len().min(bytes.len());
        into[..len].copy_from_slice(&bytes[..len]);
        Ok(())
    })
}

/// Returns the smallest bytes above everything with a prefix; `None` if nothing is above it.
pub(super) fn above_all(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte < u8::MAX)?;
    let mut above = prefix[..=last].to_vec();
    above[last] += 1;
    Some(above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_a_prefix() {
        assert_eq!(above_all(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(above_all(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(above_all(b"\xff"), None);
        assert_eq!(above_all(b""), None);
    }
}
