//! All entries, group by group.

use bytemuck::Pod;

use crate::error::Result;
use crate::layout::FIELD_MAX;
use crate::medium::{LINE_BYTES, Medium, WORD_BYTES};

use super::HashMap;
use super::chain::Chain;
use super::table::{GROUP_BYTES, LINES};

/// All entries of a map; see [`HashMap::iter`].
pub struct Iter<'m, K, V, M: Medium> {
    map: &'m HashMap<K, V, M>,
    /// The next group.
    group: u64,
    /// What the last group held.
    chain: Chain,
    /// Its entries that are still to come, the next one last.
    entries: Vec<(K, V)>,
}

impl<K: Pod, V: Pod, M: Medium> HashMap<K, V, M> {
    /// All entries, in no order. Each group is read as it is when its turn comes; while others change
    /// the map, one that is split meanwhile may show an entry twice.
    pub fn iter(&self) -> Iter<'_, K, V, M> {
        Iter {
            map: self,
            group: 0,
            chain: Chain::default(),
            entries: Vec::new(),
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
        let mut found = Chain::default();
        for group in 0..self.groups() {
            found.clear();
            self.add_group(group, &mut found)?;
            objects.extend(found.slots.iter().map(|slot| slot & FIELD_MAX));
            objects.extend(&found.links);
        }
        Ok(objects)
    }

    /// Adds what the lines of a group hold.
    fn add_group(&self, group: u64, found: &mut Chain) -> Result<()> {
        let first = self.group(group);
        (0..LINES).try_for_each(|line| found.add(self.pool(), first + line * LINE_BYTES))
    }

    /// Has the processor fetch the entries of a group, as far as can be said without its stripe.
    fn prefetch_entries(&self, group: u64) {
        let (pool, first) = (self.pool(), self.group(group));
        for at in (first..first + GROUP_BYTES).step_by(WORD_BYTES as usize) {
            let slot = pool.medium.load_word(at);
            if slot != 0 {
                pool.medium.prefetch(slot & FIELD_MAX, self.entry_bytes());
            }
        }
    }
}

impl<K: Pod, V: Pod, M: Medium> Iter<'_, K, V, M> {
    /// Reads the next group, while the entries of the one behind it are fetched.
    fn read_group(&mut self) -> Result<()> {
        let (map, group) = (self.map, self.group);
        self.group += 1;
        if self.group < map.groups() {
            map.prefetch_entries(self.group);
        }
        let _reading = map.stripes.read(group);
        self.chain.clear();
        map.add_group(group, &mut self.chain)?;
        for slot in self.chain.slots.iter().rev() {
            let entry = slot & FIELD_MAX;
            self.entries.push((map.key(entry)?, map.value(entry)?));
        }
        Ok(())
    }
}

impl<K: Pod, V: Pod, M: Medium> Iterator for Iter<'_, K, V, M> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.entries.pop() {
                return Some(Ok(entry));
            }
            if self.group >= self.map.groups() {
                return None;
            }
            if let Err(error) = self.read_group() {
                self.entries.clear();
                return Some(Err(error));
            }
        }
    }
}
