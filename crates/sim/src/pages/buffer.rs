//! The eviction buffer: pages that left DRAM's lists and wait to be written (Awad 2016, section 2).
//!
//! It holds a fixed number of pages beside the DRAM of the programs. It is flushed in the
//! background once it is half full, and at once when a fault waits for room. A page that is
//! touched while it is in the buffer is rescued: it comes back without the device.

use std::collections::VecDeque;

use terrace_policy::replacement::PageId;

use super::store::{Flags, Store};

/// Pages on their way out.
pub(super) struct EvictionBuffer {
    capacity: usize,
    /// Pages that are not being written yet.
    waiting: VecDeque<PageId>,
    /// Pages that are being written.
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

    /// An evicted page comes in, whether there is room or not.
    pub(super) fn push(&mut self, page: PageId, store: &mut Store) {
        store.set(page, Flags::WAITING);
        self.waiting.push_back(page);
    }

    /// A page in the buffer is needed again. Where it is being written its room is not free yet.
    pub(super) fn rescue(&mut self, page: PageId, store: &mut Store) {
        if store.flags(page).any(Flags::WAITING) {
            store.clear(page, Flags::WAITING);
            self.waiting.retain(|waiting| *waiting != page);
        }
    }

    /// The next page to write, marked as such; none where no flush is due. A page that was
    /// rescued and evicted again while it is being written has to wait for that.
    pub(super) fn next_to_write(&mut self, urgent: bool, store: &mut Store) -> Option<PageId> {
        if !(urgent || self.is_due()) {
            return None;
        }
        let ready = |page: &PageId| !store.flags(*page).any(Flags::WRITING);
        let index = self.waiting.iter().position(ready)?;
        let page = self.waiting.remove(index)?;
        store.clear(page, Flags::WAITING);
        store.set(page, Flags::WRITING);
        self.writing += 1;
        Some(page)
    }

    /// A page was written.
    pub(super) fn written(&mut self, page: PageId, store: &mut Store) {
        store.clear(page, Flags::WRITING);
        self.writing -= 1;
    }

    /// Whether it holds more than it should: whoever evicted has to wait.
    pub(super) fn is_over_full(&self) -> bool {
        self.waiting.len() + self.writing > self.capacity
    }

    fn is_due(&self) -> bool {
        2 * (self.waiting.len() + self.writing) >= self.capacity
    }
}
