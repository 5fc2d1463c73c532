//! Eviction buffer: pages that left the lists of DRAM and wait to be written (Awad 2016, section
//! 2).
//!
//! The buffer holds a fixed number of pages beside the DRAM of the programs. It is flushed in the
//! background once it is half full, and at once when a fault waits for room. A page that is touched
//! while it is in the buffer is rescued: it returns to DRAM without the device.

use std::collections::VecDeque;

use terrace_policy::replacement::PageId;

use super::store::{Flags, Store};

/// Pages that are being evicted.
pub(super) struct EvictionBuffer {
    capacity: usize,
    /// Pages whose write has not started.
    waiting: VecDeque<PageId>,
    /// Number of pages that are being written.
    writing: usize,
}

impl EvictionBuffer {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            waiting: VecDeque::new(),
            writing: 0,
        }
    }

    /// Adds an evicted page, even if there is no room.
    pub(super) fn push(&mut self, page: PageId, store: &mut Store) {
        store.set(page, Flags::WAITING);
        self.waiting.push_back(page);
    }

    /// Returns a page to DRAM. A page that is being written keeps its room until the write ends.
    pub(super) fn rescue(&mut self, page: PageId, store: &mut Store) {
        if store.flags(page).any(Flags::WAITING) {
            store.clear(page, Flags::WAITING);
            self.waiting.retain(|waiting| *waiting != page);
        }
    }

    /// Returns the next page to write, marked as such; `None` if no flush is due. A page that was
    /// rescued and evicted again while it is being written waits for that write.
    pub(super) fn next_to_write(&mut self, urgent: bool, store: &mut Store) -> Option<PageId> {
        if !(urgent || self.is_due()) {
            return None;
        }
        let ready = |page: &PageId| !store.flags(*page).any(Flags::WRITING);
        let index = self.waiting.iter().position(ready)?;
        let page = self.waiting.remove(index)?;
        store.clear(page, Flags::WAITING);
        self.begin(page, store);
        Some(page)
    }

    /// Marks a page as being written, which takes room until the write ends.
    pub(super) fn begin(&mut self, page: PageId, store: &mut Store) {
        store.set(page, Flags::WRITING);
        self.writing += 1;
    }

    /// Removes a page whose write has ended.
    pub(super) fn written(&mut self, page: PageId, store: &mut Store) {
        store.clear(page, Flags::WRITING);
        self.writing -= 1;
    }

    /// Returns whether the buffer exceeds its size, so that evicting threads have to wait.
    pub(super) fn is_over_full(&self) -> bool {
        self.waiting.len() + self.writing > self.capacity
    }

    fn is_due(&self) -> bool {
        2 * (self.waiting.len() + self.writing) >= self.capacity
    }
}
