//! Replacement: which pages stay in DRAM.
//!
//! A [`Replacement`] policy decides over a DRAM of a fixed number of pages. It sees every
//! touch and answers a miss with the page to evict. Pages are numbered densely ([`PageId`]), so a
//! policy keeps its state in plain arrays and never hashes.
//!
//! To add a policy: copy [`twoq`], name it in [`REGISTRY`], and give it a slow twin in
//! `tests/replacement/slow`.

pub mod age;
pub mod arc;
pub mod belady;
mod bitset;
pub mod cflru;
pub mod clock;
#[cfg(test)]
mod example;
pub mod fifo;
pub mod lfu;
pub mod linux;
pub mod lirs;
mod lists;
pub mod lru;
mod make;
pub mod paging;
mod queue;
pub mod random;
mod registry;
pub mod s3fifo;
pub mod sieve;
mod table;
pub mod twoq;

pub use make::{Entry, Made, Make, Spec};
use paging::Paging;
pub use registry::REGISTRY;

/// A page of a simulation, numbered from 0 in the order of first appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u32);

impl PageId {
    /// Returns the number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A touch of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Touched page.
    pub page: PageId,
    /// Whether the touch writes.
    pub write: bool,
}

/// Result of a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The page was in DRAM.
    Hit,
    /// The page was not in DRAM and is now; at most one page was evicted for it.
    Miss {
        /// Evicted page; `None` while there is room.
        evicted: Option<PageId>,
    },
}

/// Decides which pages stay in DRAM.
///
/// After every call at most `capacity` pages are resident, the number given to the constructor. A
/// policy may remember pages that are not resident (ghosts).
pub trait Replacement: Send {
    /// Touches a page, which is resident afterwards.
    fn touch(&mut self, touch: Touch) -> Answer;

    /// Brings in a page before its first touch; the policy treats it as a page without any use yet.
    /// Returns the evicted page. No effect on a resident page. The first touch is a hit, but counts
    /// for no more than the miss that it replaces.
    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        match self.contains(page) {
            true => None,
            false => self.fetch(page),
        }
    }

    /// Same as [`Replacement::prefetch`] of a page that is not resident.
    fn fetch(&mut self, page: PageId) -> Option<PageId>;

    /// Evicts the page that would go next, without one that comes: memory is reclaimed before it is
    /// full. Returns it; `None` if no page is resident, or if the policy cannot
    /// ([`Replacement::evicts`]).
    fn evict(&mut self) -> Option<PageId> {
        None
    }

    /// Whether [`Replacement::evict`] is to be asked.
    fn evicts(&self) -> bool {
        false
    }

    /// Marks a resident page as clean: its content was written to the slower tier.
    fn cleaned(&mut self, _page: PageId) {}

    /// Returns resident pages that are to be written to the slower tier now, and stay; the policy
    /// takes them for clean. Called after each call that evicts; a driver that does not write them
    /// writes them when they leave.
    fn writes(&mut self) -> Vec<PageId> {
        Vec::new()
    }

    /// Whether [`Replacement::writes`] ever returns a page. Where it does not, a driver need not
    /// ask.
    fn has_writes(&self) -> bool {
        false
    }

    /// Removes a page that is no longer needed: it is neither resident nor remembered.
    fn remove(&mut self, page: PageId);

    /// Whether the page is resident.
    fn contains(&self, page: PageId) -> bool;

    /// Number of resident pages.
    fn resident(&self) -> usize;

    /// Prefetches the state of pages that will be touched next into the processor's cache. Changes
    /// nothing else.
    fn expect(&self, _pages: &[PageId]) {}

    /// Returns which of up to 64 pages are not resident, the first as the lowest bit, and
    /// prefetches what bringing these in will change. A driver calls it when their state has
    /// arrived, between [`Replacement::expect`] and the touches.
    fn expect_misses(&self, pages: &[PageId]) -> u64 {
        let absent = |(at, page): (u32, &PageId)| u64::from(!self.contains(*page)) << at;
        (0..u64::BITS).zip(pages).map(absent).sum()
    }

    /// Returns the next page to be evicted if no page is touched before, where a policy knows it
    /// cheaply. A driver prefetches its own state of that page into the processor's cache.
    fn next_victim(&self) -> Option<PageId> {
        None
    }

    /// Touches pages in a row and returns the number of misses. Each policy compiles its own loop,
    /// so that a touch is not a virtual call.
    fn replay(&mut self, touches: &[Touch]) -> u64 {
        let mut misses = 0;
        for &touch in touches {
            misses += u64::from(matches!(self.touch(touch), Answer::Miss { .. }));
        }
        misses
    }

    /// Touches pages in a row, where no clock decides what happens in between; `paging` has the
    /// state of the pages and the counts. Each policy compiles its own loop, as for a replay.
    fn page(&mut self, touches: &[Touch], paging: &mut Paging) {
        paging::page(self, touches, paging);
    }
}
