//! The segment that is filled, in DRAM.

use super::layout::{Entry, Key};
use crate::page::Page;

/// A segment that is not on flash yet.
pub(super) struct Segment {
    pub sequence: u64,
    /// The slot of its first page.
    pub first: u32,
    pub pages: Vec<Page>,
    pub entries: Vec<Entry>,
}

impl Segment {
    pub fn new(sequence: u64, first: u32) -> Self {
        Self {
            sequence,
            first,
            pages: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Appends a page, and returns its slot.
    pub fn push(&mut self, key: Key, sum: u64, page: &Page) -> u32 {
        let slot = self.first + self.pages.len() as u32;
        self.pages.push(*page);
        self.entries.push(Entry {
            stamp: key.stamp,
            page: key.page.into(),
            sum,
        });
        slot
    }

    /// Whether a slot is one of this segment.
    pub fn has(&self, slot: u32) -> bool {
        slot.checked_sub(self.first)
            .is_some_and(|at| (at as usize) < self.pages.len())
    }

    /// Returns the page in a slot if it has this key.
    pub fn get(&self, slot: u32, key: Key) -> Option<&Page> {
        let at = slot.checked_sub(self.first)? as usize;
        let entry = self.entries.get(at)?;
        (entry.stamp == key.stamp && entry.page == u64::from(key.page)).then(|| &self.pages[at])
    }

    /// Leaves the page of a slot out of the footer.
    pub fn leave_out(&mut self, slot: u32) {
        if self.has(slot) {
            self.entries[(slot - self.first) as usize] = Entry::default();
        }
    }
}
