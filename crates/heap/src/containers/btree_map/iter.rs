//! Entries in the order of their keys, leaf by leaf.

use std::ops::{Bound, RangeBounds};
use std::vec;

use bytemuck::Pod;

use crate::error::Result;
use crate::medium::Medium;

use super::node::Side;
use super::{BTreeMap, Source};

/// Entries of a map in ascending order; see [`BTreeMap::range`].
pub struct Range<'m, K, V, M: Medium> {
    map: &'m BTreeMap<K, V, M>,
    /// From where on the next leaf is looked for; none if there is no other.
    from: Option<Bound<K>>,
    end: Bound<K>,
    entries: vec::IntoIter<(K, V)>,
}

impl<K: Pod + Ord, V: Pod, M: Medium> BTreeMap<K, V, M> {
    /// All entries in the order of their keys, as [`BTreeMap::range`].
    pub fn iter(&self) -> Range<'_, K, V, M> {
        self.range(..)
    }

    /// The entries of which the keys are in a range, ascending; none if it ends before it begins.
    /// Each leaf is read as it is when its turn comes, so others can change the map meanwhile.
    pub fn range(&self, range: impl RangeBounds<K>) -> Range<'_, K, V, M> {
        Range {
            map: self,
            from: Some(range.start_bound().cloned()),
            end: range.end_bound().cloned(),
            entries: Vec::new().into_iter(),
        }
    }
}

impl<K: Pod + Ord, V: Pod, M: Medium> Range<'_, K, V, M> {
    /// Reads the leaf that begins there, or the part of it that is wanted.
    fn read(&mut self, from: Bound<K>) -> Result<()> {
        let (tree, pool) = (&self.map.tree, self.map.pool());
        let _reading = self.map.read();
        let side = match &from {
            Bound::Included(key) | Bound::Excluded(key) => Side::Of(key),
            Bound::Unbounded => Side::First,
        };
        let Some(path) = tree.descend(pool, side)? else {
            return Ok(());
        };
        let wanted = (from, self.end);
        let mut entries = Vec::new();
        for (key, slot) in tree.sorted(pool, path.leaf)? {
            if wanted.contains(&key) {
                entries.push((key, tree.value(pool, path.leaf, slot)?));
            }
        }
        self.entries = entries.into_iter();
        if let Some(upper) = path.upper {
            let upper = pool.get(upper)?;
            // Keys ascend, whatever a damaged node says.
            let ascends = wanted.contains(&upper) && from != Bound::Included(upper);
            self.from = ascends.then_some(Bound::Included(upper));
        }
        Ok(())
    }
}

impl<K: Pod + Ord, V: Pod, M: Medium> Iterator for Range<'_, K, V, M> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some(Ok(entry));
            }
            let from = self.from.take()?;
            if let Err(error) = self.read(from) {
                return Some(Err(error));
            }
        }
    }
}
