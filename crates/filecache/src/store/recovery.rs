//! Opening a store: the index from the footers of its segments. FORMAT.md argues why no page is
//! older than its file.

use std::io;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use terrace_base::{Context, Result};

use super::files::Files;
use super::index::Index;
use super::layout::{Dropped, Footer, Geometry, Stamp, Superblock};
use super::ring::{Place, Ring};
use crate::medium::Medium;
use crate::page::zeroed;

/// Nanoseconds after which the kernel has written a change to disk, four times its default
/// (`vm.dirty_expire_centisecs` and `vm.dirty_writeback_centisecs`). After a reboot, files that
/// were changed later may have lost their contents and kept their times.
const WRITTEN_BACK: i64 = 140_000_000_000;

/// Pages of a footer that are read at once: one file has these at most.
const FOOTER_PAGES: u32 = 8;

/// A store as it was found.
pub(super) struct Recovered {
    pub store: [u8; 16],
    /// How the medium is divided.
    pub geometry: Geometry,
    pub ring: Ring,
    pub boot: [u8; 16],
    pub index: Index,
    pub files: Files,
    /// The number of the next segment.
    pub sequence: u64,
    /// Pages that did not check, which the next footer has to name.
    pub dropped: Vec<Dropped>,
}

/// Recovers the store of a medium, or makes an empty one.
///
/// # Errors
/// Returns a failure if the medium cannot be read or written.
pub(super) fn recover(medium: &dyn Medium, geometry: Geometry) -> Result<Recovered> {
    let cannot = || "cannot open the store of the flash".to_owned();
    let (store, geometry) = superblock(medium, geometry).or_fail(cannot)?;
    let mut recovered = Recovered {
        store,
        geometry,
        ring: Ring::new(geometry, &[]),
        boot: boot(),
        index: Index::new(geometry.slots()),
        files: Files::default(),
        sequence: 1,
        dropped: Vec::new(),
    };
    let footers = footers(medium, geometry, store).or_fail(cannot)?;
    let Some((newest_place, newest)) = footers.last() else {
        return Ok(recovered);
    };
    let places: Vec<_> = footers.iter().map(|(place, _)| *place).collect();
    recovered.ring = Ring::new(geometry, &places);
    recovered.sequence = newest.sequence + 1;
    recovered.recall_files(footers.iter().map(|(_, footer)| footer));
    recovered.recall_pages(&footers);
    let torn = torn(medium, geometry, newest_place.first, newest).or_fail(cannot)?;
    recovered.leave_out(torn, geometry);
    Ok(recovered)
}

/// Returns the id of the store that a medium holds and how it is divided, or formats it. One that
/// was used in another size is used in the size of the medium from now on, with segments as large.
fn superblock(medium: &dyn Medium, geometry: Geometry) -> io::Result<([u8; 16], Geometry)> {
    let mut page = zeroed(1);
    medium.read(0, bytemuck::cast_slice_mut(&mut page))?;
    let found = Superblock::read(&page[0].0);
    let resized = |found: Superblock| {
        let was = found.geometry();
        let now = was.resized(medium.bytes())?;
        Some((found.store, was, now))
    };
    let block = match found.and_then(resized) {
        Some((store, was, now)) if was == now => return Ok((store, now)),
        Some((store, was, now)) => {
            wipe(medium, now, was.segments..now.segments)?;
            Superblock::of(now, store)
        }
        None => Superblock::new(geometry),
    };
    if found.is_none() {
        page[0].0.fill(0);
    }
    block.put(&mut page[0]);
    medium.write(0, bytemuck::cast_slice(&page))?;
    medium.sync()?;
    Ok((block.store, block.geometry()))
}

/// Takes the footers away that places have from an earlier use: pages of theirs may be older than
/// their files.
pub(super) fn wipe(medium: &dyn Medium, geometry: Geometry, places: Range<u32>) -> io::Result<()> {
    let nothing = zeroed(1);
    for place in places.clone() {
        let last = (place + 1) * geometry.segment_pages - 1;
        medium.write(geometry.offset(last), bytemuck::cast_slice(&nothing))?;
    }
    match places.is_empty() {
        true => Ok(()),
        false => medium.sync(),
    }
}

/// Returns the id of this boot, by the kernel; zeros if it is not known.
fn boot() -> [u8; 16] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    uuid::Uuid::parse_str(text.trim()).map_or([0; 16], uuid::Uuid::into_bytes)
}

/// Reads the footer of the segment that begins at a slot; `None` if there is none.
pub(super) fn footer(
    medium: &dyn Medium,
    geometry: Geometry,
    first: u32,
    store: [u8; 16],
) -> io::Result<Option<Footer>> {
    let end = first + geometry.segment_pages;
    let read = |pages: u32| {
        let mut read = zeroed(pages as usize);
        let bytes = bytemuck::cast_slice_mut(&mut read);
        medium
            .read(geometry.offset(end - pages), bytes)
            .map(|()| read)
    };
    let guess = FOOTER_PAGES.min(geometry.segment_pages);
    let last = read(guess)?;
    let Some(pages) = Footer::pages(&last[guess as usize - 1].0, store, geometry) else {
        return Ok(None);
    };
    let whole = if pages > guess as usize {
        read(pages as u32)?
    } else {
        last
    };
    let footer = Footer::decode(bytemuck::cast_slice(&whole), store);
    Ok(footer.filter(|footer| footer.entries.len() <= geometry.most_pages()))
}

/// Returns the places and footers that count, oldest first: those up to the newest, without gaps.
/// If all places have one, that of the oldest had been emptied already when the newest was written.
fn footers(
    medium: &dyn Medium,
    geometry: Geometry,
    store: [u8; 16],
) -> io::Result<Vec<(Place, Footer)>> {
    let mut found = Vec::new();
    for segment in 0..geometry.segments {
        let first = segment * geometry.segment_pages;
        let footer = footer(medium, geometry, first, store)?;
        found.extend(footer.map(|footer| {
            let sequence = footer.sequence;
            (Place { first, sequence }, footer)
        }));
    }
    found.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(place.sequence));
    let newest = found.first().map_or(0, |(place, _)| place.sequence);
    let counts = (1..=newest).rev().zip(&found);
    let whole = counts.take_while(|(sequence, (place, _))| place.sequence == *sequence);
    let whole = whole.take(geometry.segments as usize - 1).count();
    found.truncate(whole);
    found.reverse();
    Ok(found)
}

/// Returns which pages of a segment do not check.
fn torn(
    medium: &dyn Medium,
    geometry: Geometry,
    first: u32,
    newest: &Footer,
) -> io::Result<Vec<Dropped>> {
    let mut pages = zeroed(newest.entries.len());
    if pages.is_empty() {
        return Ok(Vec::new());
    }
    medium.read(geometry.offset(first), bytemuck::cast_slice_mut(&mut pages))?;
    let entries = newest.entries.iter().zip(&pages);
    let torn = entries.filter(|(entry, page)| entry.key().sum(&page.0) != entry.sum);
    let torn = torn.map(|(entry, _)| Dropped {
        stamp: entry.stamp,
        page: entry.page,
    });
    Ok(torn.filter(|torn| torn.stamp != Stamp::default()).collect())
}

impl Recovered {
    /// Knows each file as the last footer has recorded it that names it, unless it may have changed
    /// since and be of the same version all the same.
    fn recall_files<'a>(&mut self, footers: impl Iterator<Item = &'a Footer> + Clone) {
        let mut last_of_boot: FxHashMap<[u8; 16], i64> = FxHashMap::default();
        for footer in footers.clone() {
            let last = last_of_boot.entry(footer.boot).or_insert(footer.written);
            *last = footer.written.max(*last);
        }
        for footer in footers {
            let is_this_boot = footer.boot == self.boot && self.boot != [0; 16];
            let written_back = last_of_boot[&footer.boot].saturating_sub(WRITTEN_BACK);
            for record in &footer.records {
                self.files.recall(record, footer.sequence);
                let is_certain = record.version.is_settled(footer.written)
                    && (is_this_boot || record.version.changed <= written_back);
                if !is_certain {
                    self.files.forget(record.identity);
                }
            }
        }
    }

    fn recall_pages(&mut self, footers: &[(Place, Footer)]) {
        for (place, footer) in footers {
            for dropped in &footer.dropped {
                self.index.remove(dropped.key().tag());
            }
            for (slot, entry) in (place.first..).zip(&footer.entries) {
                self.files.spend(entry.stamp);
                if self.files.of(entry.stamp).is_some() {
                    self.index.insert(entry.key().tag(), slot, entry.sum);
                }
            }
        }
    }

    /// Leaves out pages that do not check.
    fn leave_out(&mut self, torn: Vec<Dropped>, geometry: Geometry) {
        for dropped in &torn {
            self.index.remove(dropped.key().tag());
        }
        self.dropped = torn;
        if self.dropped.len() > geometry.most_dropped() {
            let rest = self.dropped.split_off(geometry.most_dropped());
            let stamps: FxHashSet<Stamp> = rest.iter().map(|dropped| dropped.stamp).collect();
            for stamp in stamps {
                if let Some((file, _)) = self.files.of(stamp) {
                    self.files.forget(file);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Record;
    use super::*;
    use crate::file::{Identity, TICK, Version};

    const NOW: i64 = 1_700_000_000_000_000_000;
    const THIS: [u8; 16] = [1; 16];
    const OTHER: [u8; 16] = [2; 16];
    const FILE: Identity = Identity {
        file_system: 1,
        inode: 7,
    };

    /// A footer that records one file.
    fn footer(sequence: u64, boot: [u8; 16], written: i64, changed: i64) -> Footer {
        let version = Version {
            size: 1,
            modified: changed,
            changed,
        };
        Footer {
            sequence,
            written,
            boot,
            entries: Vec::new(),
            records: vec![Record {
                identity: FILE,
                stamp: Stamp(3),
                version,
            }],
            dropped: Vec::new(),
        }
    }

    /// Whether the file is known after a boot of this id, from these footers.
    fn is_known(boot: [u8; 16], footers: &[Footer]) -> bool {
        let geometry = Geometry::of(Geometry::LEAST).unwrap();
        let mut recovered = Recovered {
            store: [0; 16],
            geometry,
            ring: Ring::new(geometry, &[]),
            boot,
            index: Index::new(8),
            files: Files::default(),
            sequence: 1,
            dropped: Vec::new(),
        };
        recovered.recall_files(footers.iter());
        recovered.files.get(FILE).is_some()
    }

    /// FORMAT.md, 5: two changes within a tick may have the same times.
    #[test]
    fn a_file_that_had_just_changed_is_not_recalled() {
        for (changed, known) in [
            (NOW, false),
            (NOW - TICK, false),
            (NOW - TICK - 1, true),
            (NOW + 1, false),
        ] {
            let footers = [footer(1, THIS, NOW, changed)];
            assert_eq!(is_known(THIS, &footers), known, "{}", NOW - changed);
        }
        // The last footer that names a file decides.
        let old = NOW - 10 * TICK;
        let later = [footer(1, THIS, NOW, old), footer(2, THIS, NOW, NOW)];
        assert!(!is_known(THIS, &later));
    }

    /// FORMAT.md, 6: what was changed shortly before a crash of the system may have lost its
    /// contents and kept its times.
    #[test]
    fn after_a_reboot_a_file_counts_that_was_written_back() {
        for (changed, known) in [
            (NOW - WRITTEN_BACK, true),
            (NOW - WRITTEN_BACK + 1, false),
            (NOW - 2 * TICK, false),
        ] {
            let footers = [footer(1, OTHER, NOW, changed)];
            assert_eq!(is_known(THIS, &footers), known, "{}", NOW - changed);
            assert!(is_known(OTHER, &footers));
            // Without an id of this boot, none is the same.
            let nameless = [footer(1, [0; 16], NOW, changed)];
            assert_eq!(is_known([0; 16], &nameless), known);
        }
    }

    /// The boot went on after the footer: its last footer says for how long.
    #[test]
    fn the_last_footer_of_a_boot_says_how_long_it_lasted() {
        let mut last = footer(2, OTHER, NOW + WRITTEN_BACK, 0);
        last.records.clear();
        let first = || footer(1, OTHER, NOW, NOW - 2 * TICK);
        assert!(!is_known(THIS, &[first()]));
        assert!(is_known(THIS, &[first(), last]));
    }
}
