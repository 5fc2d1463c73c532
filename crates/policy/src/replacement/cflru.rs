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

use super::list::{Links, List};
use super::table::Table;
use super::{Answer, Entry, Make, PageId, Replacement, Touch};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "cflru",
    summary: "LRU that prefers clean victims in its older half (Park 2006)",
    paper: "Park et al., CFLRU, CASES 2006, section 3",
    when: "Memories whose writes are slow or wear them out, with programs that write to few of their pages.",
    make: Make::Online(|capacity, params, _| {
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

/// Clean-first LRU.
pub struct Cflru {
    capacity: usize,
    window: usize,
    links: Links,
    /// Pages of the working region, the most recently used at the front. A page that falls off the
    /// back moves to the front of the clean-first region.
    working: List,
    clean_first: List,
    /// Clean pages of the clean-first region, least recently used first. Not a list, because a page
    /// that becomes clean comes in between others.
    clean: BTreeSet<(u64, PageId)>,
    states: Table<State>,
    now: u64,
}

impl Cflru {
    /// Makes an empty DRAM of `capacity` pages.
    pub fn new(capacity: usize, settings: CflruSettings) -> Self {
        Self {
            capacity,
            window: (settings.window * capacity as f64).ceil() as usize,
            links: Links::default(),
            working: List::default(),
            clean_first: List::default(),
            clean: BTreeSet::new(),
            states: Table::default(),
            now: 0,
        }
    }

    /// Puts a page that is in neither region at the front of the working region.
    fn enter(&mut self, page: PageId, dirty: bool) {
        self.now += 1;
        let state = State {
            region: Region::Working,
            dirty,
            used: self.now,
        };
        self.states.set(page, state);
        self.working.push_front(&mut self.links, page);
        if self.working.len() > self.capacity - self.window
            && let Some(oldest) = self.working.pop_back(&mut self.links)
        {
            self.enter_clean_first(oldest);
        }
    }

    fn enter_clean_first(&mut self, page: PageId) {
        self.clean_first.push_front(&mut self.links, page);
        let state = self.states.at(page);
        state.region = Region::CleanFirst;
        if !state.dirty {
            self.clean.insert((state.used, page));
        }
    }

    fn evict(&mut self) -> Option<PageId> {
        let clean = self.clean.first().map(|&(_, page)| page);
        let oldest = self.clean_first.back().or(self.working.back());
        let victim = clean.or(oldest)?;
        self.remove(victim);
        Some(victim)
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
        let state = self.states.get(touch.page);
        if state.region != Region::None {
            self.remove(touch.page);
            self.enter(touch.page, state.dirty || touch.write);
            return Answer::Hit;
        }
        let evicted = self.admit(touch.page, touch.write);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.admit(page, false)
    }

    fn cleaned(&mut self, page: PageId) {
        let state = self.states.get(page);
        if state.region == Region::None {
            return;
        }
        self.states.at(page).dirty = false;
        if state.region == Region::CleanFirst {
            self.clean.insert((state.used, page));
        }
    }

    fn remove(&mut self, page: PageId) {
        let state = self.states.get(page);
        match state.region {
            Region::None => return,
            Region::Working => self.working.remove(&mut self.links, page),
            Region::CleanFirst => {
                self.clean_first.remove(&mut self.links, page);
                self.clean.remove(&(state.used, page));
            }
        }
        self.states.set(page, State::default());
    }

    fn expect(&self, pages: &[PageId]) {
        self.states.expect(pages);
        self.links.expect(pages);
    }

    fn contains(&self, page: PageId) -> bool {
        self.states.get(page).region != Region::None
    }

    fn resident(&self) -> usize {
        self.working.len() + self.clean_first.len()
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
