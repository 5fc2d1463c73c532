//! A store of pages on flash.
//!
//! Pages are appended to a segment in DRAM, which is written as a whole when it is full. Segments
//! are a ring: the oldest is emptied for the next one, and those of its pages that were read since
//! they came are kept, up to half (FIFO with reinsertion). A lock is held for lookups alone;
//! transfers run beside each other, and a page that is overwritten while it is read does not check.

mod counts;
mod files;
mod index;
mod layout;
mod lookup;
mod notes;
mod reading;
mod recovery;
mod refusal;
mod resize;
mod ring;
mod segment;
mod state;
mod turnover;

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;

use terrace_base::{Bytes, Error, Nanos, Result, lock};
use terrace_policy::admission::rules::Rule;

use crate::endurance::{Budget, Endurance};
use crate::file::{self, Identity, Version};
use crate::medium::Medium;
use crate::page::Page;
use layout::{Geometry, Key, Stamp};
use segment::Segment;
use state::State;

pub use counts::Counts;
pub(crate) use layout::Superblock;
pub use reading::Reading;
pub use refusal::Refusal;

/// A store of pages on a medium.
pub struct Store {
    medium: Box<dyn Medium>,
    /// As it was when the store was opened: how many segments there are is the matter of the ring.
    geometry: Geometry,
    boot: [u8; 16],
    began: Instant,
    state: Mutex<State>,
}

/// What came of putting a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// Whether it was admitted.
    pub admitted: bool,
    /// What was written to the medium meanwhile, by this call alone.
    pub wrote: Bytes,
    /// Why it was not admitted, unless it is held already.
    pub refused: Option<Refusal>,
}

/// What a store holds now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Pages, with those of files that are gone or have changed.
    pub pages: u64,
    /// Pages that there is room for.
    pub room: u64,
    /// Pages that stay when their segment is emptied, because their files are pinned.
    pub pinned: u64,
    /// Pages that can stay so.
    pub most_pinned: u64,
    /// Known files.
    pub files: u64,
    /// Bytes of the index in DRAM.
    pub index_bytes: u64,
}

impl Store {
    /// The least bytes of a medium.
    pub const LEAST: u64 = Geometry::LEAST;

    /// Opens the store that a medium holds, or makes an empty one in place of anything else. With
    /// `endurance`, pages are refused when its budget is used up.
    ///
    /// # Errors
    /// Returns a usage error if the medium is too small, and a failure if it cannot be read or
    /// written.
    pub fn open(medium: Box<dyn Medium>, endurance: Option<&Endurance>) -> Result<Self> {
        let geometry = Geometry::of(medium.bytes()).ok_or_else(|| {
            Error::usage(format!(
                "a flash of {} is too small for a store; give it {} or more",
                Bytes(medium.bytes()),
                Bytes(Self::LEAST)
            ))
        })?;
        let mut recovered = recovery::recover(&*medium, geometry)?;
        let first = recovered.ring.begin();
        Ok(Self {
            medium,
            geometry: recovered.geometry,
            boot: recovered.boot,
            began: Instant::now(),
            state: Mutex::new(State {
                id: recovered.store,
                ring: recovered.ring,
                index: recovered.index,
                files: recovered.files,
                open: Segment::new(recovered.sequence, first),
                sealed: None,
                is_turning: false,
                dropped: recovered.dropped,
                changed: BTreeSet::new(),
                gone: Vec::new(),
                budget: endurance.map(Budget::new),
                counts: Counts::default(),
            }),
        })
    }

    /// Begins to read a file in its present `version`. `None` if a change of ours
    /// is under way: then the source alone knows.
    ///
    /// # Errors
    /// Returns the error of `version`.
    pub fn reading(
        &self,
        file: Identity,
        version: impl FnOnce() -> io::Result<Version>,
    ) -> io::Result<Option<Reading>> {
        let before = lock(&self.state).files.get(file).map(|known| known.changed);
        let now = file::now();
        let version = version()?;
        let mut state = lock(&self.state);
        let known = match (before, state.files.get(file).copied()) {
            (_, None) => state.files.meet(file, version),
            (Some(before), Some(known)) if known.changing == 0 && known.changed == before => {
                match known.version == version {
                    true => known,
                    false => {
                        state.counts.changed_behind += 1;
                        state.files.meet(file, version)
                    }
                }
            }
            // It has changed since `version` was asked, or may have.
            _ => return Ok(None),
        };
        Ok(Some(Reading {
            file,
            stamp: known.stamp,
            moment: known.changed,
            version,
            is_old: version.is_settled(now),
            is_settled: true,
            rule: Rule::Policy,
        }))
    }

    /// Whether a page is held, as far as is known without reading it.
    pub fn contains(&self, reading: &Reading, page: u64) -> bool {
        let state = lock(&self.state);
        Key::of(reading.stamp, page).is_some_and(|key| state.index.get(key.tag()).is_some())
    }

    /// Puts a page that was read from the source after `reading` was made. A page that is held
    /// already is left as it is. The thread that fills a segment writes it.
    pub fn put(&self, reading: &Reading, page: u64, contents: &Page) -> Put {
        let mut put = Put::default();
        let Some(key) = Key::of(reading.stamp, page) else {
            return put;
        };
        let sum = key.sum(&contents.0);
        let mut state = lock(&self.state);
        if state.index.get(key.tag()).is_some() {
            return put;
        }
        put.refused = state.refuses(reading, self.now());
        if put.refused.is_some() {
            return put;
        }
        if state.open.pages.len() >= self.geometry.most_pages() {
            if state.is_turning {
                state.counts.refused_busy += 1;
                put.refused = Some(Refusal::Busy);
                return put;
            }
            state.is_turning = true;
            drop(state);
            put.wrote = self.turnover();
            state = lock(&self.state);
            // What was checked before may have changed while the lock was not held.
            if state.index.get(key.tag()).is_some() {
                return put;
            }
            put.refused = state.refuses(reading, self.now());
            if put.refused.is_some() {
                return put;
            }
            if state.open.pages.len() >= self.geometry.most_pages() {
                state.counts.refused_busy += 1;
                put.refused = Some(Refusal::Busy);
                return put;
            }
        }
        let stays =
            reading.rule == Rule::Pinned && state.index.pinned() < state.most_pinned(self.geometry);
        state.append(reading.file, key, sum, contents, stays);
        state.counts.admitted += 1;
        put.admitted = true;
        put
    }

    /// Returns a reading of the file as it is known now, for a page that every change since has
    /// left as it is; `None` if the file has changed behind our back, or is changing.
    pub fn renew(&self, reading: &Reading) -> Option<Reading> {
        let state = lock(&self.state);
        let known = state.files.get(reading.file)?;
        (known.stamp == reading.stamp && known.changing == 0).then_some(Reading {
            moment: known.changed,
            version: known.version,
            is_old: reading.is_old && known.version.is_settled(file::now()),
            ..*reading
        })
    }

    /// Returns the number of a file, as [`Reading::stamp`] does, if it is known.
    pub fn stamp(&self, file: Identity) -> Option<u64> {
        lock(&self.state).files.get(file).map(|known| known.stamp.0)
    }

    /// Changes a file by `act`, before which the pages in `pages` are dropped. What `version` tells
    /// before and after is what the file is known as; it is not asked about a file that is not
    /// known. It answers `None` if somebody else may be changing the file, or have changed it since
    /// it was asked first: then all of its pages are dropped.
    pub fn change<T>(
        &self,
        file: Identity,
        pages: Range<u64>,
        version: impl Fn() -> io::Result<Option<Version>>,
        act: impl FnOnce() -> T,
    ) -> T {
        let began = self.begin_change(file, pages, &version);
        let done = act();
        match began {
            Some(stamp) => self.end_change(file, stamp, version()),
            // A file that was met meanwhile was read while it changed.
            None => drop(self.forget(file)),
        }
        done
    }

    fn begin_change(
        &self,
        file: Identity,
        pages: Range<u64>,
        version: impl Fn() -> io::Result<Option<Version>>,
    ) -> Option<Stamp> {
        let before = lock(&self.state)
            .files
            .get(file)
            .map(|known| known.changed)?;
        let version = version();
        let mut state = lock(&self.state);
        let known = *state.files.get(file)?;
        let Ok(Some(version)) = version else {
            state.counts.changed_beside += 1;
            state.files.forget(file);
            return None;
        };
        let is_quiet = known.changing == 0 && known.changed == before;
        if is_quiet && version != known.version {
            state.counts.changed_behind += 1;
            state.files.forget(file);
            return None;
        }
        if !state.drop_pages(known.stamp, pages, self.geometry) {
            state.files.forget(file);
            return None;
        }
        let moment = state.files.moment();
        let known = state.files.get_mut(file)?;
        known.changing += 1;
        known.changed = moment;
        Some(known.stamp)
    }

    fn end_change(&self, file: Identity, stamp: Stamp, version: io::Result<Option<Version>>) {
        let mut state = lock(&self.state);
        let moment = state.files.moment();
        let Some(known) = state.files.get_mut(file) else {
            return;
        };
        let Ok(Some(version)) = version else {
            state.counts.changed_beside += 1;
            state.files.forget(file);
            return;
        };
        if known.stamp != stamp {
            state.files.forget(file);
            return;
        }
        known.changing -= 1;
        known.changed = moment;
        if version.changed >= known.version.changed {
            known.version = version;
        }
        if known.latest > 0 && !state.note_changed(stamp, self.geometry) {
            state.files.forget(file);
        }
    }

    /// Forgets a file and its pages: it is gone, or all of it has changed. Returns its number, as
    /// [`Reading::stamp`] does, and its bytes, if it was known.
    pub fn forget(&self, file: Identity) -> Option<(u64, u64)> {
        let mut state = lock(&self.state);
        state.note_gone(file, self.geometry);
        let known = state.files.forget(file)?;
        Some((known.stamp.0, known.version.size))
    }

    /// Forgets a file that has no pages, as one does that is not open any more.
    pub fn forget_if_empty(&self, file: Identity) {
        let mut state = lock(&self.state);
        if state
            .files
            .get(file)
            .is_some_and(|known| known.latest == 0 && known.changing == 0)
        {
            state.files.forget(file);
        }
    }

    /// Returns what has been counted since the store was opened.
    pub fn counts(&self) -> Counts {
        lock(&self.state).counts
    }

    /// Returns what the store holds now.
    pub fn held(&self) -> Held {
        let state = lock(&self.state);
        Held {
            pages: state.index.len() as u64,
            room: state.room(self.geometry),
            pinned: state.index.pinned(),
            most_pinned: state.most_pinned(self.geometry),
            files: state.files.len() as u64,
            index_bytes: state.index.bytes() as u64,
        }
    }

    fn now(&self) -> Nanos {
        Nanos(self.began.elapsed().as_nanos() as u64)
    }
}
