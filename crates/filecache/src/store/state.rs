//! What of a store changes under its lock.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use terrace_base::Nanos;

use super::counts::Counts;
use super::files::{Files, Known};
use super::index::Index;
use super::layout::{Dropped, Geometry, Key, Record, Stamp};
use super::reading::Reading;
use super::refusal::Refusal;
use super::ring::Ring;
use super::segment::Segment;
use crate::endurance::Budget;
use crate::file::{Identity, Version};
use crate::page::Page;

/// Pages that are dropped one by one; a file loses all of its pages if more are.
const MOST_AT_ONCE: u64 = 1 << 16;

/// What changes under the lock.
pub(super) struct State {
    pub id: [u8; 16],
    pub ring: Ring,
    pub index: Index,
    pub files: Files,
    pub open: Segment,
    /// The segment that is being written.
    pub sealed: Option<Arc<Segment>>,
    /// Whether a thread makes room for the next segment.
    pub is_turning: bool,
    /// Pages that were dropped since the last footer.
    pub dropped: Vec<Dropped>,
    /// Files whose version has changed since the last footer.
    pub changed: BTreeSet<Stamp>,
    /// Files that had pages and are gone since the last footer.
    pub gone: Vec<Record>,
    pub budget: Option<Budget>,
    pub counts: Counts,
}

impl State {
    /// Why a page may not be put, of a file as it was read.
    pub fn refuses(&mut self, reading: &Reading, now: Nanos) -> Option<Refusal> {
        let is_as_read = |known: &Known| {
            known.stamp == reading.stamp && known.changed == reading.moment && known.changing == 0
        };
        let is_kept = reading.is_settled && reading.is_old;
        if !is_kept || !self.files.get(reading.file).is_some_and(is_as_read) {
            self.counts.refused_changed += 1;
            return Some(Refusal::Changed);
        }
        if self
            .budget
            .as_mut()
            .is_some_and(|budget| !budget.allows(now))
        {
            self.counts.refused_budget += 1;
            return Some(Refusal::Budget);
        }
        None
    }

    pub fn append(&mut self, file: Identity, key: Key, sum: u64, page: &Page, stays: bool) {
        let slot = self.open.push(key, sum, page);
        self.index.insert(key.tag(), slot, sum);
        self.index.pin(slot, stays);
        if let Some(known) = self.files.get_mut(file) {
            known.latest = self.open.sequence;
        }
    }

    /// Drops pages of a file, and returns whether the next footer has room to say so.
    pub fn drop_pages(&mut self, stamp: Stamp, pages: Range<u64>, geometry: Geometry) -> bool {
        // Of a larger range more pages may be held than a footer has room for, and looking takes
        // long.
        if pages.end.saturating_sub(pages.start) > MOST_AT_ONCE {
            return false;
        }
        for key in pages.filter_map(|page| Key::of(stamp, page)) {
            let Some(slot) = self.index.get(key.tag()) else {
                continue;
            };
            self.counts.dropped += 1;
            if !self.drop_page(key, slot, geometry) {
                return false;
            }
        }
        true
    }

    /// Drops a page, wherever it is. Also one that is not on flash yet is noted: a page with the
    /// same tag may be.
    pub fn drop_page(&mut self, key: Key, slot: u32, geometry: Geometry) -> bool {
        self.open.leave_out(slot);
        self.index.remove(key.tag());
        self.dropped.push(Dropped {
            stamp: key.stamp,
            page: key.page.into(),
        });
        self.dropped.len() <= geometry.most_dropped() || {
            self.dropped.pop();
            false
        }
    }

    /// Has the next footer say that a file is gone, if it has room: otherwise the next file with
    /// its identity is taken for one that has changed behind the store, which is as safe.
    pub fn note_gone(&mut self, file: Identity, geometry: Geometry) {
        let Some(known) = self.files.get(file).filter(|known| known.latest > 0) else {
            return;
        };
        if self.gone.len() < geometry.most_records() {
            self.gone.push(Record {
                identity: file,
                stamp: known.stamp,
                version: Version::NONE,
            });
        }
    }

    /// Has the next footer record a file, and returns whether it has room for that.
    pub fn note_changed(&mut self, stamp: Stamp, geometry: Geometry) -> bool {
        self.changed.insert(stamp);
        self.changed.len() <= geometry.most_changed() || {
            self.changed.remove(&stamp);
            false
        }
    }
}
