//! The DRAM level of exact mode (Koob 2010): a given number of pages, and a replacement policy.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;

use rustc_hash::FxHashMap;
use terrace_base::{Bytes, lock};
use terrace_policy::replacement::{self, PageId, Replacement, Touch};

use crate::page::Page;
use crate::store::{Reading, Store};

/// Pages that left DRAM and that the policy may remember, as a multiple of those in DRAM.
const REMEMBERED: usize = 4;

/// Pages whose drop is looked for one by one.
const MOST_AT_ONCE: u64 = 1 << 16;

/// The DRAM level.
pub struct Dram {
    pages: usize,
    state: Mutex<State>,
}

struct State {
    policy: Box<dyn Replacement>,
    ids: FxHashMap<(u64, u64), PageId>,
    /// By id.
    slots: Vec<Slot>,
    /// Ids that left, oldest first.
    left: VecDeque<PageId>,
    free: Vec<PageId>,
    hits: u64,
    misses: u64,
}

/// A page that is in DRAM, or was.
struct Slot {
    key: (u64, u64),
    held: Option<Box<(Reading, Page)>>,
}

impl Dram {
    /// Makes an empty level.
    ///
    /// # Errors
    /// Returns a message if the policy needs to know the future, or `size` is less than a page.
    pub fn new(size: Bytes, policy: &replacement::Spec) -> Result<Self, String> {
        let pages = size.pages() as usize;
        if pages == 0 {
            return Err(format!("{size} of DRAM is less than a page"));
        }
        let policy = policy.policy(pages, 1, None)?;
        Ok(Self {
            pages,
            state: Mutex::new(State {
                policy,
                ids: FxHashMap::default(),
                slots: Vec::new(),
                left: VecDeque::new(),
                free: Vec::new(),
                hits: 0,
                misses: 0,
            }),
        })
    }

    /// Returns how many pages were asked for and found, and how many were not.
    pub fn counts(&self) -> (u64, u64) {
        let state = lock(&self.state);
        (state.hits, state.misses)
    }

    /// Fills those of the pages from `first` on that are held, and returns which ones these are.
    pub fn get(&self, stamp: u64, first: u64, into: &mut [Page]) -> Vec<bool> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let found = (first..).zip(into).map(|(page, into)| {
            let id = state.ids.get(&(stamp, page)).copied();
            let held = id.and_then(|id| state.slots[id.index()].held.as_deref());
            match (id, held) {
                (Some(id), Some(held)) => {
                    *into = held.1;
                    state.policy.touch(Touch {
                        page: id,
                        write: false,
                    });
                    state.hits += 1;
                    true
                }
                _ => {
                    state.misses += 1;
                    false
                }
            }
        });
        found.collect()
    }

    /// Puts a page that is as `reading` says, and returns the one that leaves for it if that may be
    /// put into the store.
    pub fn insert(
        &self,
        reading: &Reading,
        page: u64,
        contents: &Page,
        store: &Store,
    ) -> Option<(Reading, u64, Page)> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        // A change that begins later drops the page here, for which it waits for the lock.
        store
            .renew(reading)
            .filter(|now| now == reading && reading.is_settled())?;
        let key = (reading.stamp(), page);
        let id = match state.ids.get(&key) {
            Some(id) if state.slots[id.index()].held.is_some() => return None,
            Some(id) => *id,
            None => state.new_id(key, REMEMBERED * self.pages),
        };
        let answer = state.policy.touch(Touch {
            page: id,
            write: false,
        });
        state.slots[id.index()].held = Some(Box::new((*reading, *contents)));
        let replacement::Answer::Miss {
            evicted: Some(evicted),
        } = answer
        else {
            return None;
        };
        state.left.push_back(evicted);
        let slot = &mut state.slots[evicted.index()];
        let (was_read, contents) = *slot.held.take()?;
        Some((store.renew(&was_read)?, slot.key.1, contents))
    }

    /// Drops pages of a file.
    pub fn drop_pages(&self, stamp: u64, pages: Range<u64>) {
        let mut state = lock(&self.state);
        if pages.end.saturating_sub(pages.start) <= MOST_AT_ONCE {
            pages.for_each(|page| state.drop_page((stamp, page)));
            return;
        }
        let of_file = |key: &&(u64, u64)| key.0 == stamp && pages.contains(&key.1);
        let keys: Vec<_> = state.ids.keys().filter(of_file).copied().collect();
        keys.into_iter().for_each(|key| state.drop_page(key));
    }
}

impl State {
    /// Numbers a page, in place of one that left longest ago if there are `most` numbers.
    fn new_id(&mut self, key: (u64, u64), most: usize) -> PageId {
        while self.ids.len() >= most {
            let Some(id) = self.left.pop_front() else {
                break;
            };
            let slot = &self.slots[id.index()];
            // It may have come back, or be gone already.
            if slot.held.is_none() && self.ids.get(&slot.key) == Some(&id) {
                self.drop_page(slot.key);
            }
        }
        let id = self.free.pop().unwrap_or(PageId(self.slots.len() as u32));
        let slot = Slot { key, held: None };
        match self.slots.get_mut(id.index()) {
            Some(old) => *old = slot,
            None => self.slots.push(slot),
        }
        self.ids.insert(key, id);
        id
    }

    fn drop_page(&mut self, key: (u64, u64)) {
        if let Some(id) = self.ids.remove(&key) {
            self.policy.remove(id);
            self.slots[id.index()].held = None;
            self.free.push(id);
        }
    }
}
