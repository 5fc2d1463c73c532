//! Writing a full segment, and emptying the oldest one for the next.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use terrace_base::{Bytes, lock};

use super::layout::{Entry, Footer, Geometry, Stamp};
use super::ring::Place;
use super::segment::Segment;
use super::{State, Store};
use crate::file;
use crate::page::{PAGE_SIZE, Page, zeroed};

/// A page of the oldest segment that was used since it came.
struct Survivor {
    slot: u32,
    entry: Entry,
    page: Page,
}

impl Store {
    /// Writes the segment that is filled, though it is not full: what the store holds can be
    /// recovered then.
    pub fn flush(&self) {
        self.begin_turnover();
        let is_new = {
            let state = lock(&self.state);
            !state.open.pages.is_empty()
                || !state.dropped.is_empty()
                || !state.changed.is_empty()
                || !state.gone.is_empty()
        };
        if is_new {
            self.write_segment();
        }
        lock(&self.state).is_turning = false;
    }

    /// Waits until no other thread makes room for a segment, and keeps others from it until
    /// `is_turning` is taken back.
    pub(super) fn begin_turnover(&self) {
        loop {
            let mut state = lock(&self.state);
            if !state.is_turning {
                state.is_turning = true;
                return;
            }
            drop(state);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Makes room for the next segment, writes the one that is filled, and returns what was
    /// written. The caller has set `is_turning`, which is taken back.
    pub(super) fn turnover(&self) -> Bytes {
        let wrote = self.write_segment();
        lock(&self.state).is_turning = false;
        wrote
    }

    /// Does so, and leaves `is_turning` to the caller.
    pub(super) fn write_segment(&self) -> Bytes {
        let (first, id) = {
            let state = lock(&self.state);
            (state.ring.next(), state.id)
        };
        let kept = self.used_pages(first);
        let (sealed, footer) = lock(&self.state).seal(kept, self.geometry, self.boot);
        let written = self.write(&sealed, &footer, id);
        let mut state = lock(&self.state);
        state.sealed = None;
        match written {
            Ok(written) => {
                state.counts.segments += 1;
                state.counts.written_bytes += written.0;
                if let Some(budget) = &mut state.budget {
                    budget.spend(written);
                }
                written
            }
            // The pages are gone, and a gap in the ring ends all that is older once the store is
            // opened again.
            Err(_) => {
                state.counts.write_errors += 1;
                for slot in sealed.first..sealed.first + sealed.pages.len() as u32 {
                    state.index.vacate(slot);
                }
                Bytes(0)
            }
        }
    }

    /// Reads the used pages of a segment, up to half of it, and all that are pinned.
    fn used_pages(&self, first: u32) -> Vec<Survivor> {
        let Some(footer) = self.footer(first) else {
            return Vec::new();
        };
        let slots = first..first + self.geometry.segment_pages;
        let used: Vec<(u32, Entry)> = {
            let state = lock(&self.state);
            let is_there = |(slot, entry): &(u32, Entry)| {
                let is_there = state.index.get(entry.key().tag()) == Some(*slot);
                is_there && state.files.of(entry.stamp).is_some()
            };
            let there = slots.zip(footer.entries).filter(is_there);
            let (mut kept, others): (Vec<_>, Vec<_>) =
                there.partition(|(slot, _)| state.index.is_pinned(*slot));
            let room = (self.geometry.most_pages() / 2).saturating_sub(kept.len());
            let used = others
                .into_iter()
                .filter(|(slot, _)| state.index.is_used(*slot));
            kept.extend(used.take(room));
            kept
        };
        let read = |(slot, entry): (u32, Entry)| {
            let mut page = zeroed(1);
            let offset = self.geometry.offset(slot);
            let read = self
                .medium
                .read(offset, bytemuck::cast_slice_mut(&mut page));
            let checks = read.is_ok() && entry.key().sum(&page[0].0) == entry.sum;
            checks.then(|| Survivor {
                slot,
                entry,
                page: page[0],
            })
        };
        used.into_iter().filter_map(read).collect()
    }

    /// Reads the footer of the segment that begins at a slot.
    pub(super) fn footer(&self, first: u32) -> Option<Footer> {
        let id = lock(&self.state).id;
        super::recovery::footer(&*self.medium, self.geometry, first, id).ok()?
    }

    fn write(&self, sealed: &Segment, footer: &Footer, id: [u8; 16]) -> io::Result<Bytes> {
        let footer = footer.encode(id);
        let end = sealed.first + self.geometry.segment_pages;
        let at = self.geometry.offset(end - footer.len() as u32);
        if !sealed.pages.is_empty() {
            let offset = self.geometry.offset(sealed.first);
            self.medium
                .write(offset, bytemuck::cast_slice(&sealed.pages))?;
        }
        self.medium.write(at, bytemuck::cast_slice(&footer))?;
        // No footer is written before the one before it is durable: then only the newest segment
        // can be torn.
        self.medium.sync()?;
        Ok(Bytes(
            ((sealed.pages.len() + footer.len()) * PAGE_SIZE) as u64,
        ))
    }
}

impl State {
    /// Empties the place of the next segment, puts the kept pages there, and returns the segment
    /// that was filled.
    fn seal(
        &mut self,
        kept: Vec<Survivor>,
        geometry: Geometry,
        boot: [u8; 16],
    ) -> (Arc<Segment>, Footer) {
        let sequence = self.open.sequence + 1;
        let first = self.ring.turn(Place {
            first: self.open.first,
            sequence: self.open.sequence,
        });
        // What was dropped while it was read is not kept.
        let still = |kept: &Survivor| self.index.get(kept.entry.key().tag()) == Some(kept.slot);
        let kept = kept.into_iter().filter(still);
        let kept = kept.map(|kept| (self.index.is_pinned(kept.slot), kept));
        let kept: Vec<_> = kept.collect();
        for slot in first..first + geometry.segment_pages {
            self.index.vacate(slot);
        }
        let full = std::mem::replace(&mut self.open, Segment::new(sequence, first));
        let footer = self.footer(&full, geometry, boot);
        let sealed = Arc::new(full);
        self.sealed = Some(Arc::clone(&sealed));
        for (stays, Survivor { entry, page, .. }) in kept {
            if let Some((file, _)) = self.files.of(entry.stamp) {
                self.append(file, entry.key(), entry.sum, &page, stays);
                self.counts.kept += 1;
            }
        }
        if sequence.is_multiple_of(self.ring.len().into()) {
            self.files.forget_before(self.ring.oldest());
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
