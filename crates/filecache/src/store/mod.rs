//! A store of pages on flash.
//!
//! Pages are appended to a segment in DRAM, which is written as a whole when it is full. Segments are a ring: the oldest
//! is emptied for the next one, and those of its pages that were read since they came are kept, up to half (FIFO with
//! reinsertion). A lock is held for lookups alone; transfers run beside each other, and a page that is overwritten while
//! it is read does not check.

mod counts;
mod files;
mod index;
mod layout;
mod lookup;
mod notes;
mod recovery;
mod resize;
mod ring;
mod segment;
mod turn;

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use terrace_base::{Bytes, Error, Nanos, Result, lock};
use terrace_policy::admission::rules::Rule;

use crate::endurance::{Budget, Endurance};
use crate::file::{self, Identity, Version};
use crate::medium::Medium;
use crate::page::Page;
use files::{Files, Known};
use index::Index;
use layout::{Dropped, Geometry, Key, Record, Stamp};
use ring::Ring;
use segment::Segment;

pub use counts::Counts;
pub(crate) use layout::Superblock;

/// A store of pages on a medium.
pub struct Store {
    medium: Box<dyn Medium>,
    /// As it was when the store was opened: how many segments there are is the matter of the ring.
    geometry: Geometry,
    boot: [u8; 16],
    began: Instant,
    state: Mutex<State>,
}

/// What changes under the lock.
struct State {
    id: [u8; 16],
    ring: Ring,
    index: Index,
    files: Files,
    open: Segment,
    /// The segment that is being written.
    sealed: Option<Arc<Segment>>,
    /// Whether a thread makes room for the next segment.
    turning: bool,
    /// Pages that were dropped since the last footer.
    dropped: Vec<Dropped>,
    /// Files whose version has changed since the last footer.
    changed: BTreeSet<Stamp>,
    /// Files that had pages and are gone since the last footer.
    gone: Vec<Record>,
    budget: Option<Budget>,
    counts: Counts,
}

/// A file as it is when it is read: pages that are read from it after this was made may be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    file: Identity,
    stamp: Stamp,
    moment: u64,
    version: Version,
    /// Whether it is old enough for a later change to have other times, whatever the kernel.
    is_old: bool,
    /// Whether nothing changes it without making another version.
    is_settled: bool,
    rule: Rule,
}

impl Reading {
    /// Returns a number of the file that no other file has or had, and that changes with a change behind our back.
    pub fn stamp(&self) -> u64 {
        self.stamp.0
    }

    /// Returns the version of the file.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether nothing changes the file without making another version.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Returns what the rules say of the file.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Notes what the rules say of the file: pages of a pinned one stay, as far as there is room for that.
    pub fn set_rule(&mut self, rule: Rule) {
        self.rule = rule;
    }

    /// Notes that the file is being changed, or may be without making another version: nothing is put as of this reading.
    pub fn unsettle(&mut self) {
        self.is_settled = false;
    }
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

/// Why a page was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its file has just changed, or may change without making another version.
    Changed,
    /// The budget of writes is used up.
    Budget,
    /// A full segment is being written.
    Busy,
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

    /// Opens the store that a medium holds, or makes an empty one in place of anything else. With `endurance`, pages are
    /// refused when its budget is used up.
    ///
    /// # Errors
    /// Returns a usage error if the medium is too small, and a failure if it cannot be read or written.
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
                turning: false,
                dropped: recovered.dropped,
                changed: BTreeSet::new(),
                gone: Vec::new(),
                budget: endurance.map(Budget::new),
                counts: Counts::default(),
            }),
        })
    }

    /// Begins to read a file, of which `version` tells as what it is now. `None` if a change of ours is under way: then
    /// the source alone knows.
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
        key(reading.stamp, page).is_some_and(|key| state.index.get(key.tag()).is_some())
    }

    /// Puts a page that was read from the source after `reading` was made. A page that is held already is left as it
    /// is. The thread that fills a segment writes it.
    pub fn put(&self, reading: &Reading, page: u64, contents: &Page) -> Put {
        let mut put = Put::default();
        let Some(key) = key(reading.stamp, page) else {
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
            if state.turning {
                state.counts.refused_busy += 1;
                put.refused = Some(Refusal::Busy);
                return put;
            }
            state.turning = true;
            drop(state);
            put.wrote = self.turn();
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

    /// Returns a reading of the file as it is known now, for a page that every change since has left as it is; `None` if
    /// the file has changed behind our back, or is changing.
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

    /// Changes a file by `act`, before which the pages in `pages` are dropped. What `version` tells before and after
    /// is what the file is known as; it is not asked about a file that is not known. It answers `None` if somebody else may
    /// be changing the file, or have changed it since it was asked first: then all of its pages are dropped.
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

    /// Forgets a file and its pages: it is gone, or all of it has changed. Returns its number, as [`Reading::stamp`]
    /// does, and its bytes, if it was known.
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

/// Returns the key of a page; `None` beyond 16 TiB of a file.
fn key(stamp: Stamp, page: u64) -> Option<Key> {
    let page = u32::try_from(page).ok()?;
    Some(Key { stamp, page })
}

impl State {
    /// Why a page may not be put, of a file as it was read.
    fn refuses(&mut self, reading: &Reading, now: Nanos) -> Option<Refusal> {
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

    fn append(&mut self, file: Identity, key: Key, sum: u64, page: &Page, stays: bool) {
        let slot = self.open.push(key, sum, page);
        self.index.insert(key.tag(), slot, sum);
        self.index.pin(slot, stays);
        if let Some(known) = self.files.get_mut(file) {
            known.latest = self.open.sequence;
        }
    }

    /// Drops pages of a file, and returns whether the next footer has room to say so.
    fn drop_pages(&mut self, stamp: Stamp, pages: Range<u64>, geometry: Geometry) -> bool {
        // Of a larger range more pages may be held than a footer has room for, and looking takes long.
        if pages.end.saturating_sub(pages.start) > MOST_AT_ONCE {
            return false;
        }
        for key in pages.filter_map(|page| key(stamp, page)) {
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

    /// Drops a page, wherever it is. Also one that is not on flash yet is noted: a page with the same tag may be.
    fn drop_page(&mut self, key: Key, slot: u32, geometry: Geometry) -> bool {
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

    /// Has the next footer say that a file is gone, if it has room: otherwise the next file with its identity is taken
    /// for one that has changed behind the store, which is as safe.
    fn note_gone(&mut self, file: Identity, geometry: Geometry) {
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
    fn note_changed(&mut self, stamp: Stamp, geometry: Geometry) -> bool {
        self.changed.insert(stamp);
        self.changed.len() <= geometry.most_changed() || {
            self.changed.remove(&stamp);
            false
        }
    }
}

/// Pages that are dropped one by one; a file loses all of its pages if more are.
const MOST_AT_ONCE: u64 = 1 << 16;
