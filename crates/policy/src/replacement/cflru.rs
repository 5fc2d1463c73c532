//! CFLRU: LRU that evicts clean pages first among those not used for long, because they need not be
//! written to the slower memory.
//!
//! Park, Jung, Kang, Kim and Lee, "CFLRU: a replacement algorithm for flash memory", CASES 2006,
//! section 3. In the order of last use, recent pages are the working region, and the others the
//! clean-first region, whose size is the window. The least recently used clean page of the
//! clean-first region is evicted; if all of them are dirty, the least recently used page. The
//! paper's best window depends on the program and on the cost of a write relative to a read; the
//! default here is half of the pages.

use std::collections::BTreeSet;

use super::lists::{self, Lists};
use super::{Answer, Entry, Make, PageId, Replacement, Touch};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "cflru",
    summary: "LRU that prefers clean victims in its older half (Park 2006)",
    paper: "Park et al., CFLRU, CASES 2006, section 3",
    when: "Memories whose writes are slow or wear them out, with programs that write to few of their pages.",
    evidence: crate::registry::Evidence {
        open: "The window, which depends on programs: here half of the pages.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::Online(&|capacity, params, _| {
        Ok(Box::new(Cflru::new(capacity, CflruSettings::take(params)?)))
    }),
};

settings! {
    /// Settings of `cflru`.
    pub struct CflruSettings {
        /// share of the pages from which clean ones go first, those not used for the longest time
        window: f64 = 0.5, 0.0..=1.0;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Region {
    #[default]
    None,
    /// The most recently used page is at the front. A page that falls off the back moves to the
    /// front of the clean-first region.
    Working,
    CleanFirst,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    region: Region,
    dirty: bool,
    /// Number of the call in which the page was last used.
    used: u64,
}

impl From<Region> for State {
    fn from(region: Region) -> Self {
        let (dirty, used) = (false, 0);
        Self {
            region,
            dirty,
            used,
        }
    }
}

impl lists::State for State {
    const RESIDENT: usize = 2;

    #[inline]
    fn list(self) -> usize {
        self.region as usize
    }
}

/// Clean-first LRU.
pub struct Cflru {
    capacity: usize,
    window: usize,
    regions: Lists<State, 3>,
    /// Clean pages of the clean-first region, least recently used first. Not a list, because a page
    /// that becomes clean comes in between others.
    clean: BTreeSet<(u64, PageId)>,
    now: u64,
}

impl Cflru {
    /// Makes an empty DRAM of `capacity` pages.
    pub fn new(capacity: usize, settings: CflruSettings) -> Self {
        Self {
            capacity,
            window: (settings.window * capacity as f64).ceil() as usize,
            regions: Lists::default(),
            clean: BTreeSet::new(),
            now: 0,
        }
    }

    /// Puts a page at the front of the working region; it is not among the clean pages.
    fn enter(&mut self, page: PageId, dirty: bool) {
        self.now += 1;
        let state = State {
            region: Region::Working,
            dirty,
            used: self.now,
        };
        self.regions.put(page, state);
        if self.regions.len(Region::Working) > self.capacity - self.window
            && let Some((oldest, mut state)) = self.regions.pop_back(Region::Working)
        {
            state.region = Region::CleanFirst;
            self.regions.push(oldest, state);
            if !state.dirty {
                self.clean.insert((state.used, oldest));
            }
        }
    }

    fn leave_clean(&mut self, page: PageId) -> State {
        let state = self.regions.get(page);
        if state.region == Region::CleanFirst {
            self.clean.remove(&(state.used, page));
        }
        state
    }

    fn admit(&mut self, page: PageId, dirty: bool) -> Option<PageId> {
        let full = self.resident() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        self.enter(page, dirty);
        evicted
    }
}

impl Replacement for Cflru {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            let state = self.leave_clean(touch.page);
            self.enter(touch.page, state.dirty || touch.write);
            return Answer::Hit;
        }
        let evicted = self.admit(touch.page, touch.write);
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        self.admit(page, false)
    }

    fn evict(&mut self) -> Option<PageId> {
        let oldest = || {
            let clean_first = self.regions.back(Region::CleanFirst);
            clean_first.or(self.regions.back(Region::Working))
        };
        let clean = self.clean.first().map(|&(_, page)| page);
        let victim = clean.or_else(oldest)?;
        self.remove(victim);
        Some(victim)
    }

    fn evicts(&self) -> bool {
        true
    }

    fn cleaned(&mut self, page: PageId) {
        if !self.contains(page) {
            return;
        }
        let state = self.regions.at(page);
        state.dirty = false;
        if state.region == Region::CleanFirst {
            self.clean.insert((state.used, page));
        }
    }

    fn remove(&mut self, page: PageId) {
        self.leave_clean(page);
        self.regions.remove(page);
    }

    fn expect(&self, pages: &[PageId]) {
        self.regions.expect(pages);
        self.regions.expect_links(pages);
    }

    fn contains(&self, page: PageId) -> bool {
        self.regions.is_resident(page)
    }

    fn resident(&self) -> usize {
        self.regions.resident()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's example (section 3): eight pages of which P1 was used last, a window of
    /// four, P5 and P7 clean, P6 and P8 dirty.
    fn example() -> Cflru {
        let mut cflru = Cflru::new(8, CflruSettings { window: 0.5 });
        for page in (1..=8).rev() {
            cflru.touch(touch(page, page != 5 && page != 7));
        }
        cflru
    }

    fn touch(page: u32, write: bool) -> Touch {
        let page = PageId(page);
        Touch { page, write }
    }

    #[test]
    fn clean_pages_go_first_within_the_window() {
        // LRU would take P8, P7, P6, P5.
        let mut cflru = example();
        for victim in [7, 5, 8, 6] {
            let evicted = Some(PageId(victim));
            assert_eq!(
                cflru.touch(touch(10 + victim, true)),
                Answer::Miss { evicted }
            );
        }
    }

    #[test]
    fn a_page_that_is_cleaned_goes_in_the_order_of_its_last_use() {
        let mut cflru = example();
        cflru.cleaned(PageId(6));
        cflru.cleaned(PageId(1));
        for victim in [7, 6, 5, 8] {
            let evicted = Some(PageId(victim));
            assert_eq!(
                cflru.touch(touch(10 + victim, true)),
                Answer::Miss { evicted }
            );
        }
    }
}
