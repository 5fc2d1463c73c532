//! The staging range: pages that have left the program, until the slow memory holds them and their
//! room is needed. A page that is touched again before that comes back from here: it is a victim
//! cache too.

use std::io;
use std::ops::Range;

use rustix::mm::Advice;
use terrace_base::Result;
use terrace_policy::replacement::PageId;
use terrace_policy::write::Contents;

use crate::aside::Aside;

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Nothing.
    Empty,
    /// A page.
    Holds(PageId),
    /// What nobody needs any more.
    Abandoned,
}

/// Slots in a ring: pages come in at one end, and the oldest leave at the other.
pub(crate) struct Staging {
    aside: Aside,
    slots: Vec<Slot>,
    /// The slot that came in first of those between the ends.
    oldest: usize,
    /// Slots between the ends, empty ones included.
    span: usize,
    /// The oldest of these, which [`Staging::due`] has named.
    named: usize,
    /// Slots that are not empty.
    held: usize,
}

impl Staging {
    /// Maps a range of this many slots, at least one.
    ///
    /// # Errors
    /// Returns those of [`Aside::new`].
    pub fn new(slots: usize) -> Result<Self> {
        Ok(Self {
            aside: Aside::new(slots)?,
            slots: vec![Slot::Empty; slots],
            oldest: 0,
            span: 0,
            named: 0,
            held: 0,
        })
    }

    /// Goes on in a forked process, which has a copy of the range.
    ///
    /// # Errors
    /// Returns those of [`Aside::new`].
    pub fn begin_anew(&mut self) -> Result<()> {
        self.aside.begin_anew()
    }

    /// Lets children have the range, or keeps them from it.
    pub fn advise(&self, advice: Advice) {
        self.aside.advise(advice);
    }

    /// Returns how many slots are not empty.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Returns the slots in a row into which pages can come next; they go no further than the end
    /// of the range.
    pub fn free(&self) -> Range<usize> {
        let start = (self.oldest + self.span) % self.slots.len();
        let free = self.slots.len() - self.span;
        start..(start + free).min(self.slots.len())
    }

    /// Moves pages in a row from this address to the next slots, as many as [`Staging::free`] has
    /// at least, and returns how many were moved.
    ///
    /// # Errors
    /// Returns that of [`Uffd::move_pages`].
    pub fn take(&mut self, from: u64, pages: &[PageId]) -> io::Result<usize> {
        let start = self.free().start;
        let moved = self.aside.take(from, start, pages.len())?;
        for (at, page) in pages[..moved].iter().enumerate() {
            self.slots[start + at] = Slot::Holds(*page);
        }
        self.span += moved;
        self.held += moved;
        Ok(moved)
    }

    /// Names the oldest slot that was not named yet if fewer than `rest` are younger: what it holds
    /// is to be written, so that it may go once its room is needed.
    pub fn due(&mut self, rest: usize) -> Option<(usize, Slot)> {
        if self.named + rest >= self.span {
            return None;
        }
        let slot = (self.oldest + self.named) % self.slots.len();
        self.named += 1;
        Some((slot, self.slots[slot]))
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the address of a slot.
    pub fn address(&self, slot: usize) -> u64 {
        self.aside.address(slot)
    }

    /// Returns the contents of a slot that is not empty.
    pub fn contents(&self, slot: usize) -> &Contents {
        assert!(self.slots[slot] != Slot::Empty, "an empty slot is read");
        self.aside.contents(slot)
    }

    /// The page of a slot was moved elsewhere.
    pub fn emptied(&mut self, slot: usize) {
        self.slots[slot] = Slot::Empty;
        self.held -= 1;
    }

    /// Drops what a slot holds.
    pub fn empty(&mut self, slot: usize) {
        self.aside.drop_pages(slot..slot + 1);
        self.emptied(slot);
    }

    /// Nobody needs any more what a slot holds.
    pub fn abandon(&mut self, slot: usize) {
        self.slots[slot] = Slot::Abandoned;
    }

    /// Empties the oldest slots that were named, up to `most` of them: those of pages that `let_go`
    /// allows to go, up to the first that may not.
    pub fn reclaim(&mut self, most: usize, mut let_go: impl FnMut(PageId) -> bool) {
        let mut reclaimed = 0;
        while reclaimed < most.min(self.named) {
            let slot = (self.oldest + reclaimed) % self.slots.len();
            if let Slot::Holds(page) = self.slots[slot]
                && !let_go(page)
            {
                break;
            }
            self.held -= usize::from(self.slots[slot] != Slot::Empty);
            self.slots[slot] = Slot::Empty;
            reclaimed += 1;
        }
        let end = (self.oldest + reclaimed).min(self.slots.len());
        self.aside.drop_pages(self.oldest..end);
        self.aside.drop_pages(0..reclaimed - (end - self.oldest));
        self.oldest = (self.oldest + reclaimed) % self.slots.len();
        self.span -= reclaimed;
        self.named -= reclaimed;
    }
}
