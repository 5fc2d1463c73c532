//! Changing how much of a medium a store uses, and emptying it, while it is used.

use std::io;

use terrace_base::{Bytes, lock};

use super::index::Index;
use super::layout::{Geometry, Key, Stamp, Superblock};
use super::segment::Segment;
use super::{State, Store, notes, recovery};
use crate::file::Identity;
use crate::page::zeroed;

/// Pages of a file that are pinned at once, between which others have the lock.
const AT_ONCE: u64 = 1 << 14;

impl Store {
    /// Has the store use so much of its medium, which is made as large. Pages beyond are forgotten;
    /// all others stay.
    ///
    /// # Errors
    /// Returns invalid input if it is too small, and the error of the medium, which does not grow
    /// then.
    pub fn resize(&self, size: Bytes) -> io::Result<()> {
        if !self.medium.is_resizable() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let wanted = self.geometry.resized(size.0);
        let wanted = wanted.ok_or(io::ErrorKind::InvalidInput)?;
        self.begin_turnover();
        let done = self.resize_to(wanted, size);
        lock(&self.state).is_turning = false;
        done
    }

    fn resize_to(&self, wanted: Geometry, size: Bytes) -> io::Result<()> {
        let (now, id) = {
            let state = lock(&self.state);
            (state.ring.len(), state.id)
        };
        let end = wanted.slots();
        if wanted.segments > now {
            self.medium.resize(size.0)?;
            let added = now..wanted.segments;
            recovery::wipe(&*self.medium, wanted, added.clone())?;
            self.write_superblock(wanted, id)?;
            let mut state = lock(&self.state);
            state.index = state.index.resized(end);
            state
                .ring
                .add(added.map(|place| place * wanted.segment_pages));
            return Ok(());
        }
        // First, because changes to pages that are forgotten are noted nowhere: they must not be
        // found again.
        self.write_superblock(wanted, id)?;
        lock(&self.state).ring.cut(end);
        if lock(&self.state).open.first >= end {
            self.write_segment();
            lock(&self.state).ring.cut(end);
        }
        {
            let mut state = lock(&self.state);
            state.index = state.index.resized(end);
        }
        self.medium.resize(size.0)
    }

    /// Forgets all pages, for good: what lies on the medium is of another store from now on.
    ///
    /// # Errors
    /// Returns the error of the medium, and forgets nothing then.
    pub fn clear(&self) -> io::Result<()> {
        self.begin_turnover();
        let geometry = Geometry {
            segments: lock(&self.state).ring.len(),
            ..self.geometry
        };
        let id = Superblock::new(geometry).store;
        let written = self.write_superblock(geometry, id);
        let mut state = lock(&self.state);
        if written.is_ok() {
            state.clear(id, geometry);
        }
        state.is_turning = false;
        written
    }

    fn write_superblock(&self, geometry: Geometry, id: [u8; 16]) -> io::Result<()> {
        let mut page = zeroed(1);
        self.medium.read(0, bytemuck::cast_slice_mut(&mut page))?;
        Superblock::of(geometry, id).put(&mut page[0]);
        self.medium.write(0, bytemuck::cast_slice(&page))?;
        self.medium.sync()
    }

    /// Returns the rules of people that were kept with it.
    ///
    /// # Errors
    /// Returns the error of the medium, and invalid data if they do not check.
    pub fn notes(&self) -> io::Result<Vec<u8>> {
        notes::read(&*self.medium)
    }

    /// Keeps rules of people with it, until others are kept.
    ///
    /// # Errors
    /// Returns the error of the medium, and invalid input for more bytes than there is room for.
    pub fn keep_notes(&self, bytes: &[u8]) -> io::Result<()> {
        self.begin_turnover();
        let kept = notes::write(&*self.medium, bytes);
        lock(&self.state).is_turning = false;
        kept
    }

    /// Whether the store may have pages of a file.
    pub fn has_pages(&self, file: Identity) -> bool {
        let state = lock(&self.state);
        state.files.get(file).is_some_and(|known| known.latest > 0)
    }

    /// Returns the files that may have pages.
    pub fn files(&self) -> Vec<Identity> {
        lock(&self.state).files.with_pages()
    }

    /// Has the pages of a file that the store has stay, or not any more, as far as there is room
    /// for pinned pages.
    pub fn pin(&self, file: Identity, stays: bool) {
        let mut first = 0;
        loop {
            let mut state = lock(&self.state);
            let Some(known) = state.files.get(file).copied() else {
                return;
            };
            let end = Bytes(known.version.size).pages_needed();
            let next = end.min(first + AT_ONCE);
            state.pin(known.stamp, first..next, stays, self.geometry);
            first = next;
            if first >= end {
                return;
            }
        }
    }
}

impl State {
    fn clear(&mut self, id: [u8; 16], geometry: Geometry) {
        self.id = id;
        self.index = Index::new(geometry.slots());
        self.open = Segment::new(self.open.sequence, self.open.first);
        self.ring.clear();
        self.dropped.clear();
        self.changed.clear();
        self.gone.clear();
        self.files.forget_pages();
    }

    fn pin(&mut self, stamp: Stamp, pages: std::ops::Range<u64>, stays: bool, geometry: Geometry) {
        let most = self.most_pinned(geometry);
        for key in pages.filter_map(|page| Key::of(stamp, page)) {
            let is_full = stays && self.index.pinned() >= most;
            if let Some(slot) = self.index.get(key.tag()).filter(|_| !is_full) {
                self.index.pin(slot, stays);
            }
        }
    }

    /// Returns how many pages may be pinned: three quarters, so that there is always a place to
    /// empty.
    pub(super) fn most_pinned(&self, geometry: Geometry) -> u64 {
        self.room(geometry) / 4 * 3
    }

    /// Returns how many pages there is room for.
    pub(super) fn room(&self, geometry: Geometry) -> u64 {
        geometry.most_pages() as u64 * u64::from(self.ring.len())
    }
}
