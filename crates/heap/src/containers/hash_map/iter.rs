//! Iterators over all entries, group by group.

use crate::error::Result;
use crate::layout::FIELD_MAX;
use crate::medium::{LINE_BYTES, Medium, WORD_BYTES};
use crate::sink::Source;
use crate::transaction::Transaction;

use super::super::container::Reader;
use super::super::data::Value;
use super::HashMap;
use super::chain::Chain;
use super::layout::{GROUP_BYTES, LINES};
use super::table::Table;

/// An iterator over all entries of a map; see [`HashMap::iter`].
pub struct Iter<'m, K: Value + ?Sized, V: Value + ?Sized, M: Medium> {
    from: Reader<'m, Table, M>,
    /// The next group.
    group: u64,
    /// The contents of the last group.
    chain: Chain,
    /// Entries of the last group that were not returned yet, the next one last.
    entries: Vec<(K::Owned, V::Owned)>,
}

impl Table {
    /// Returns the offset of each object of the map once for each time it is reached, for checks.
    /// All guards are held.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn objects(&self, source: &impl Source) -> Result<Vec<u64>> {
        let mut objects = vec![self.at];
        let mut pages = Vec::new();
        for segment in 0..self.shape.segments() {
            if let super::layout::Pointer::InPage { page, .. } = self.shape.pointer(segment) {
                match source.word(self.at + page)? {
                    0 => break,
                    at if pages.last() != Some(&at) => pages.push(at),
                    _ => {}
                }
            }
            match self.segment_at(source, segment)? {
                0 => break,
                at => objects.push(at),
            }
        }
        objects.extend(pages);
        let mut found = Chain::default();
        for group in 0..self.groups() {
            found.clear();
            self.add_group(source, group, &mut found)?;
            for slot in &found.slots {
                let entry = self.entries.read(source, slot & FIELD_MAX)?;
                objects.extend(entry.objects(source)?);
            }
            objects.extend(&found.links);
        }
        Ok(objects)
    }

    /// Adds the contents of a group's lines.
    fn add_group(&self, source: &impl Source, group: u64, found: &mut Chain) -> Result<()> {
        let first = self.group(group);
        (0..LINES).try_for_each(|line| found.add(source, first + line * LINE_BYTES))
    }

    /// Prefetches the entries of a group, as far as they are known without its guard.
    fn prefetch_entries(&self, source: &impl Source, group: u64) {
        let first = self.group(group);
        for at in (first..first + GROUP_BYTES).step_by(WORD_BYTES as usize) {
            if let Ok(slot @ 1..) = source.word(at) {
                source.prefetch(slot & FIELD_MAX, self.entries.usual_bytes());
            }
        }
    }
}

impl<'m, K: Value + ?Sized, V: Value + ?Sized, M: Medium> Iter<'m, K, V, M> {
    pub(super) fn new(map: &'m HashMap<K, V, M>, tx: Option<&'m Transaction<'m, M>>) -> Self {
        Self {
            from: map.table.reader(tx),
            group: 0,
            chain: Chain::default(),
            entries: Vec::new(),
        }
    }

    /// Reads the next group, and prefetches the entries of the one after it.
    fn read_group(&mut self) -> Result<()> {
        let Self { chain, entries, .. } = self;
        let group = self.group;
        self.group += 1;
        self.from.read(self.from.number(group), |from| {
            if group + 1 < from.groups() {
                from.prefetch_entries(from.pool(), group + 1);
            }
            chain.clear();
            if group >= from.groups() {
                // The map was cleared since this was checked without the guard.
                return Ok(());
            }
            from.add_group(from, group, chain)?;
            for slot in chain.slots.iter().rev() {
                let entry = from.entries.read(from, slot & FIELD_MAX)?;
                entries.push((entry.key::<K>(from)?, entry.value::<V>(from)?));
            }
            Ok(())
        })
    }
}

impl<K: Value + ?Sized, V: Value + ?Sized, M: Medium> Iterator for Iter<'_, K, V, M> {
    type Item = Result<(K::Owned, V::Owned)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.entries.pop() {
                return Some(Ok(entry));
            }
            if self.group >= self.from.groups() {
                return None;
            }
            if let Err(error) = self.read_group() {
                self.entries.clear();
                self.group = u64::MAX;
                return Some(Err(error));
            }
        }
    }
}
