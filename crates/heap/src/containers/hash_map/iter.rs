//! All entries, group by group.

use std::vec;

use bytemuck::Pod;

use crate::error::Result;
use crate::layout::FIELD_MAX;
use crate::medium::{LINE_BYTES, Medium};

use super::HashMap;
use super::chain::{Chain, chain};
use super::table::LINES;

/// All entries of a map; see [`HashMap::iter`].
pub struct Iter<'m, K, V, M: Medium> {
    map: &'m HashMap<K, V, M>,
    /// The next group.
    group: u64,
    entries: vec::IntoIter<(K, V)>,
}

impl<K: Pod, V: Pod, M: Medium> HashMap<K, V, M> {
    /// All entries, in no order. Each group is read as it is when its turn comes; while others change
    /// the map, one that is split meanwhile may show an entry twice.
    pub fn iter(&self) -> Iter<'_, K, V, M> {
        Iter {
            map: self,
            group: 0,
            entries: Vec::new().into_iter(),
        }
    }

    /// The offset of each object of the map as often as it is reached, for checks.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn objects(&self) -> Result<Vec<u64>> {
        let _reading = self.stripes.read_all();
        let segments = self.segments.iter();
        let segments = segments.map(|at| at.load(std::sync::atomic::Ordering::Acquire));
        let mut objects = vec![self.table];
        objects.extend(segments.filter(|&at| at != 0));
        for group in 0..self.groups() {
            let found = self.chains(group)?;
            objects.extend(found.slots.iter().map(|slot| slot & FIELD_MAX));
            objects.extend(found.links);
        }
        Ok(objects)
    }

    /// What the lines of a group hold.
    fn chains(&self, group: u64) -> Result<Chain> {
        let mut all = Chain::default();
        for line in 0..LINES {
            let found = chain(self.pool(), self.group(group) + line * LINE_BYTES)?;
            all.slots.extend(found.slots);
            all.links.extend(found.links);
        }
        Ok(all)
    }

    fn entries(&self, group: u64) -> Result<Vec<(K, V)>> {
        let entry = |slot: &u64| {
            let entry = slot & FIELD_MAX;
            Ok((self.key(entry)?, self.value(entry)?))
        };
        self.chains(group)?.slots.iter().map(entry).collect()
    }
}

impl<K: Pod, V: Pod, M: Medium> Iterator for Iter<'_, K, V, M> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some(Ok(entry));
            }
            if self.group >= self.map.groups() {
                return None;
            }
            let _reading = self.map.stripes.read(self.group);
            let entries = self.map.entries(self.group);
            self.group += 1;
            match entries {
                Ok(entries) => self.entries = entries.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
