//! Writing a full segment, and emptying the oldest one for the next.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use terrace_base::{Bytes, lock};

use super::layout::{Entry, Footer, Geometry, Stamp};
use super::segment::Segment;
use super::{State, Store};
use crate::file;
use crate::page::{PAGE_SIZE, Page, zeroed};

/// A page of the oldest segment that was used since it came.
struct Kept {
    slot: u32,
    entry: Entry,
    page: Page,
}

impl Store {
    /// Writes the segment that is filled, though it is not full: what the store holds can be recovered then.
    pub fn flush(&self) {
        loop {
            let mut state = lock(&self.state);
            if !state.turning {
                let is_new = !state.open.pages.is_empty()
                    || !state.dropped.is_empty()
                    || !state.changed.is_empty()
                    || !state.gone.is_empty();
                if !is_new {
                    return;
                }
                state.turning = true;
                break;
            }
            drop(state);
            std::thread::sleep(Duration::from_millis(1));
        }
        self.turn();
    }

    /// Makes room for the next segment, writes the one that is filled, and returns what was written. The caller has set
    /// `turning`.
    pub(super) fn turn(&self) -> Bytes {
        let sequence = lock(&self.state).open.sequence + 1;
        let kept = self.used_pages(self.geometry.first_slot(sequence));
        let (sealed, footer) = lock(&self.state).seal(sequence, kept, self.geometry, self.boot);
        let written = self.write(&sealed, &footer);
        let mut state = lock(&self.state);
        state.sealed = None;
        state.turning = false;
        match written {
            Ok(written) => {
                state.counts.segments += 1;
                state.counts.written_bytes += written.0;
                if let Some(budget) = &mut state.budget {
                    budget.spend(written);
                }
                written
            }
            // The pages are gone, and a gap in the ring ends all that is older once the store is opened again.
            Err(_) => {
                state.counts.write_errors += 1;
                for slot in sealed.first..sealed.first + sealed.pages.len() as u32 {
                    state.index.vacate(slot);
                }
                Bytes(0)
            }
        }
    }

    /// Reads the used pages of a segment, up to half of them.
    fn used_pages(&self, first: u32) -> Vec<Kept> {
        let Some(footer) = self.footer(first) else {
            return Vec::new();
        };
        let slots = first..first + self.geometry.segment_pages;
        let used: Vec<(u32, Entry)> = {
            let state = lock(&self.state);
            let is_kept = |(slot, entry): &(u32, Entry)| {
                let is_there = state.index.get(entry.key().tag()) == Some(*slot);
                is_there && state.index.is_used(*slot) && state.files.of(entry.stamp).is_some()
            };
            let most = self.geometry.most_pages() / 2;
            slots
                .zip(footer.entries)
                .filter(is_kept)
                .take(most)
                .collect()
        };
        let read = |(slot, entry): (u32, Entry)| {
            let mut page = zeroed(1);
            let offset = self.geometry.offset(slot);
            let read = self
                .medium
                .read(offset, bytemuck::cast_slice_mut(&mut page));
            let checks = read.is_ok() && entry.key().sum(&page[0].0) == entry.sum;
            checks.then(|| Kept {
                slot,
                entry,
                page: page[0],
            })
        };
        used.into_iter().filter_map(read).collect()
    }

    /// Reads the footer of the segment that begins at a slot.
    pub(super) fn footer(&self, first: u32) -> Option<Footer> {
        super::recovery::footer(&*self.medium, self.geometry, first, self.id).ok()?
    }

    fn write(&self, sealed: &Segment, footer: &Footer) -> io::Result<Bytes> {
        let footer = footer.encode(self.id);
        let end = sealed.first + self.geometry.segment_pages;
        let at = self.geometry.offset(end - footer.len() as u32);
        if !sealed.pages.is_empty() {
            let offset = self.geometry.offset(sealed.first);
            self.medium
                .write(offset, bytemuck::cast_slice(&sealed.pages))?;
        }
        self.medium.write(at, bytemuck::cast_slice(&footer))?;
        // No footer is written before the one before it is durable: then only the newest segment can be torn.
        self.medium.sync()?;
        Ok(Bytes(
            ((sealed.pages.len() + footer.len()) * PAGE_SIZE) as u64,
        ))
    }
}

impl State {
    /// Empties the place of the next segment, puts the kept pages there, and returns the segment that was filled.
    fn seal(
        &mut self,
        sequence: u64,
        kept: Vec<Kept>,
        geometry: Geometry,
        boot: [u8; 16],
    ) -> (Arc<Segment>, Footer) {
        let first = geometry.first_slot(sequence);
        // What was dropped while it was read is not kept.
        let still = |kept: &Kept| self.index.get(kept.entry.key().tag()) == Some(kept.slot);
        let kept: Vec<_> = kept.into_iter().filter(still).collect();
        for slot in first..first + geometry.segment_pages {
            self.index.vacate(slot);
        }
        let full = std::mem::replace(&mut self.open, Segment::new(sequence, first));
        let footer = self.footer(&full, geometry, boot);
        let sealed = Arc::new(full);
        self.sealed = Some(Arc::clone(&sealed));
        for Kept { entry, page, .. } in kept {
            if let Some((file, _)) = self.files.of(entry.stamp) {
                self.append(file, entry.key(), entry.sum, &page);
                self.counts.kept += 1;
            }
        }
        if sequence.is_multiple_of(geometry.segments.into()) {
            self.files.forget_before(geometry.oldest(sequence));
        }
        (sealed, footer)
    }

    /// Returns the footer of a segment, and begins to note anew what the next one has to say.
    fn footer(&mut self, full: &Segment, geometry: Geometry, boot: [u8; 16]) -> Footer {
        let of_pages = full.entries.iter().map(|entry| entry.stamp);
        let changed = std::mem::take(&mut self.changed);
        let stamps: BTreeSet<Stamp> = of_pages.chain(changed).collect();
        let known = stamps
            .into_iter()
            .filter_map(|stamp| self.files.record(stamp));
        let known: Vec<_> = known.collect();
        // First, because a file with the identity of one that is gone may be known by now.
        let mut records = std::mem::take(&mut self.gone);
        records.truncate(geometry.most_records() - known.len());
        records.extend(known);
        Footer {
            sequence: full.sequence,
            written: file::now(),
            boot,
            entries: full.entries.clone(),
            records,
            dropped: std::mem::take(&mut self.dropped),
        }
    }
}
