//! Misses of each thread, linked in their order; two misses that follow each other again are
//! recorded once.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::threads::Threads;
use crate::page::{Fault, Location, Page, Space};

/// A recorded miss.
#[derive(Clone, Copy)]
struct Miss {
    page: Page,
    space: Space,
    /// Place of the thread's next miss, [`NONE`] if none was recorded.
    next: u32,
}

const NONE: u32 = u32::MAX;

/// What is known of a thread.
#[derive(Clone, Copy, Default)]
struct Latest {
    /// Its latest miss.
    page: Option<Page>,
    /// Place of its latest miss, if that was recorded as new.
    place: Option<u32>,
}

/// What a miss is to a history.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    /// It followed the same other miss before: the place of that one in the history, and its place
    /// in the index.
    Before {
        /// Place of the recorded miss.
        place: u32,
        /// Place in the index, for [`History::disprove`].
        slot: usize,
    },
    /// It was recorded.
    First {
        /// Whether all earlier misses were forgotten, for want of room.
        anew: bool,
    },
}

/// Recorded misses. Each takes 16 bytes, and the index 4 for each that there is room for.
pub struct History {
    most: usize,
    log: Vec<Miss>,
    /// Places of misses in the log, by the hash of a miss and the one before it; a later miss with
    /// the same hash takes the place of an earlier one. Empty until the first miss.
    index: Vec<u32>,
    threads: Threads<Latest>,
}

impl History {
    /// Makes a history of at most so many misses; when there are more, it starts anew.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            log: Vec::new(),
            index: Vec::new(),
            threads: Threads::new(),
        }
    }

    /// Handles the next miss of a thread.
    pub fn miss(&mut self, fault: &Fault) -> Seen {
        let mut latest = std::mem::take(self.threads.of(fault));
        let seen = self.follow(&mut latest, fault.at);
        *self.threads.of(fault) = latest;
        seen
    }

    /// Makes room for a lesson of so many misses and as many others, before the first miss.
    pub fn reserve(&mut self, misses: usize) {
        self.most = self.most.max(2 * misses);
    }

    /// Records walks of a space that were recorded in an earlier run.
    pub fn teach(&mut self, space: Space, walks: &[Vec<Page>]) {
        for walk in walks {
            let mut latest = Latest::default();
            for &page in walk {
                self.follow(&mut latest, Location::new(space, page));
            }
        }
    }

    /// Handles a miss behind the latest one.
    fn follow(&mut self, latest: &mut Latest, at: Location) -> Seen {
        if self.index.is_empty() {
            self.index = vec![NONE; self.most.next_power_of_two()];
        }
        let (before, last) = (latest.page.replace(at.page), latest.place.take());
        let slot = before.map(|before| self.slot(before, at));
        if let Some((place, slot)) = slot.and_then(|slot| Some((self.recorded(slot, at)?, slot))) {
            return Seen::Before { place, slot };
        }
        let (place, anew) = self.record(last, at);
        *latest = Latest {
            page: Some(at.page),
            place: Some(place),
        };
        slot.into_iter().for_each(|slot| self.index[slot] = place);
        Seen::First { anew }
    }

    /// Returns the place in the index of a miss behind another.
    fn slot(&self, before: Page, at: Location) -> usize {
        let hash = FxBuildHasher.hash_one((before, at));
        (hash >> 20) as usize % self.index.len()
    }

    /// Returns the place in the log where the same miss followed the same other one.
    fn recorded(&self, slot: usize, at: Location) -> Option<u32> {
        let place = self.index[slot];
        let miss = self.log.get(place as usize)?;
        (miss.page == at.page && miss.space == at.space).then_some(place)
    }

    /// Records a miss behind the one at `last`; returns its place, and whether all earlier misses
    /// were forgotten because there was no room.
    fn record(&mut self, last: Option<u32>, at: Location) -> (u32, bool) {
        let anew = self.log.len() >= self.most;
        if anew {
            self.log.clear();
            self.index.fill(NONE);
            self.threads = Threads::new();
        }
        let place = self.log.len() as u32;
        if let Some(last) = last.and_then(|last| self.log.get_mut(last as usize)) {
            last.next = place;
        }
        self.log.push(Miss {
            page: at.page,
            space: at.space,
            next: NONE,
        });
        (place, anew)
    }

    /// Returns the place and the page of the miss that followed the one at `place`.
    pub fn next(&self, place: u32) -> Option<(u32, Location)> {
        let next = self.log.get(place as usize)?.next;
        let miss = self.log.get(next as usize)?;
        Some((next, Location::new(miss.space, miss.page)))
    }

    /// Forgets that a miss followed another.
    pub fn disprove(&mut self, slot: usize) {
        self.index[slot] = NONE;
    }

    /// Forgets what the misses of a space were; they keep their room.
    pub fn forget(&mut self, space: Space) {
        self.threads.forget(space);
        for miss in self.log.iter_mut().filter(|miss| miss.space == space) {
            (miss.page, miss.next) = (Page(u64::MAX), NONE);
        }
    }

    /// Returns the walks: runs of misses of a thread, each linked to the next.
    pub fn walks(&self) -> impl Iterator<Item = Vec<Location>> {
        let heads = self.heads().into_iter();
        heads.map(|head| self.from(head).collect())
    }

    /// Returns the places of misses that follow no other.
    fn heads(&self) -> Vec<u32> {
        let mut follows = vec![false; self.log.len()];
        for miss in &self.log {
            if let Some(next) = follows.get_mut(miss.next as usize) {
                *next = true;
            }
        }
        let places = 0..self.log.len() as u32;
        places.filter(|&place| !follows[place as usize]).collect()
    }

    /// Returns the misses from `place` on.
    fn from(&self, place: u32) -> impl Iterator<Item = Location> {
        let mut next = place;
        std::iter::from_fn(move || {
            let miss = self.log.get(next as usize)?;
            next = miss.next;
            Some(Location::new(miss.space, miss.page))
        })
    }
}
