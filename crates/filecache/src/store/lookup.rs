//! Finding pages.
//!
//! The index knows a page by 32 bits of its hash, so one that is looked for may be taken for
//! another. It does not check then, and the footer of its segment tells that it is not damaged.

use terrace_base::lock;

use super::layout::{Geometry, Key};
use super::{Reading, State, Store, index};
use crate::page::Page;

/// A page that is to be read.
struct Wanted {
    /// Where in the caller's pages.
    at: usize,
    key: Key,
    slot: u32,
    sum: u64,
}

/// Where a page is.
enum Place<'a> {
    Memory(&'a Page),
    Flash(u32),
}

impl Store {
    /// Fills those of the pages from `first` on that are held, and returns which ones these are.
    pub fn get(&self, reading: &Reading, first: u64, into: &mut [Page]) -> Vec<bool> {
        let mut found = vec![false; into.len()];
        let mut on_flash = Vec::new();
        {
            let mut state = lock(&self.state);
            for (at, page) in into.iter_mut().enumerate() {
                let Some(key) = Key::of(reading.stamp, first + at as u64) else {
                    continue;
                };
                match state.find(key) {
                    Some(Place::Memory(held)) => {
                        *page = *held;
                        found[at] = true;
                    }
                    Some(Place::Flash(slot)) => on_flash.push(Wanted {
                        at,
                        key,
                        slot,
                        sum: state.index.sum(slot),
                    }),
                    None => continue,
                }
                if let Some(slot) = state.index.get(key.tag()) {
                    state.index.touch(slot);
                }
            }
        }
        for row in on_flash.chunk_by(|one, next| next.at == one.at + 1 && next.slot == one.slot + 1)
        {
            self.read_row(row, into, &mut found);
        }
        let hits = found.iter().filter(|found| **found).count() as u64;
        let counts = &mut lock(&self.state).counts;
        counts.hits += hits;
        counts.misses += into.len() as u64 - hits;
        found
    }

    /// Reads pages whose slots lie in a row.
    fn read_row(&self, row: &[Wanted], into: &mut [Page], found: &mut [bool]) {
        let pages = &mut into[row[0].at..row[0].at + row.len()];
        let offset = self.geometry.offset(row[0].slot);
        let read = self.medium.read(offset, bytemuck::cast_slice_mut(pages));
        for (wanted, page) in row.iter().zip(pages) {
            let checks = read.is_ok() && index::same(wanted.key.sum(&page.0), wanted.sum);
            found[wanted.at] = checks;
            if !checks && !self.is_of_another(wanted) {
                lock(&self.state).damaged(wanted, self.geometry);
            }
        }
    }

    /// Whether the slot of a page that did not check has a page with another key and the same tag.
    fn is_of_another(&self, wanted: &Wanted) -> bool {
        let at = wanted.slot % self.geometry.segment_pages;
        let footer = self.footer(wanted.slot - at);
        let entry = footer.and_then(|footer| footer.entries.get(at as usize).copied());
        entry.is_some_and(|entry| entry.key() != wanted.key)
    }
}

impl State {
    /// Returns where a page is.
    fn find(&self, key: Key) -> Option<Place<'_>> {
        let slot = self.index.get(key.tag())?;
        let sealed = self.sealed.as_deref();
        match [Some(&self.open), sealed]
            .into_iter()
            .flatten()
            .find(|segment| segment.has(slot))
        {
            Some(segment) => segment.get(slot, key).map(Place::Memory),
            None => Some(Place::Flash(slot)),
        }
    }

    /// Drops a page that did not check, unless its slot has got another one meanwhile.
    fn damaged(&mut self, wanted: &Wanted, geometry: Geometry) {
        let is_there = self.index.get(wanted.key.tag()) == Some(wanted.slot)
            && index::same(self.index.sum(wanted.slot), wanted.sum);
        if !is_there {
            return;
        }
        self.counts.damaged += 1;
        if !self.drop_page(wanted.key, wanted.slot, geometry)
            && let Some((file, _)) = self.files.of(wanted.key.stamp)
        {
            self.files.forget(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use terrace_base::Bytes;

    use super::*;
    use crate::file::{Identity, Version};
    use crate::medium::{Emulated, Slowdown};
    use crate::page::zeroed;
    use crate::store::layout::Stamp;

    /// Returns two pages of a file that have the same tag.
    fn same_tag(stamp: u64) -> (u64, u64) {
        let mut known = HashMap::new();
        let mut pairs = (0..1 << 20).filter_map(|page| {
            let tag = Key {
                stamp: Stamp(stamp),
                page,
            };
            let other = known.insert(tag.tag(), page)?;
            Some((other.into(), page.into()))
        });
        pairs.next().unwrap()
    }

    #[test]
    fn a_page_that_is_taken_for_another_is_a_miss_and_the_other_stays() {
        let free = Slowdown::Factors(0.0, 0.0);
        let medium = Emulated::new(Bytes(Store::LEAST), free);
        let store = Store::open(Box::new(medium), None).unwrap();
        let version = Version {
            size: 1 << 40,
            ..Version::default()
        };
        let reading = store.reading(Identity::default(), || Ok(version));
        let reading = reading.unwrap().unwrap();
        let (held, other) = same_tag(reading.stamp());
        let mut page = zeroed(1);
        page[0].0.fill(7);
        assert!(store.put(&reading, held, &page[0]).admitted);
        for _ in 0..2 {
            assert_eq!(store.get(&reading, other, &mut page), [false]);
            assert_eq!(store.get(&reading, held, &mut page), [true]);
            assert!(page[0].0.iter().all(|byte| *byte == 7));
            // Once from the segment that is filled, and once from the medium.
            store.flush();
        }
        let counts = store.counts();
        assert_eq!((counts.damaged, counts.hits, counts.misses), (0, 2, 2));
    }
}
