//! `sampled`: pages that were accessed in many of the last eight intervals are fast, others slow.
//!
//! The processor marks the page-table entries that it uses, and a scan at the end of each interval
//! collects the marks. The last eight of a page are its history, as in the aging approximation of
//! least recently used. Instead of scans, samples of the accesses can fill it (`every`): processors
//! count events and report one in N.

use std::cmp::Reverse;
use std::num::NonZeroU32;
use std::time::Duration;

use super::sides::Sides;
use super::{Access, Entry, Make, Migration, Plan, Side};
use crate::replacement::PageId;
use crate::settings;
use crate::times::Times;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "sampled",
    summary: "pages seen in many of the last eight intervals, by accessed bits or by samples of the accesses",
    paper: "accessed bits: Linux, admin-guide/mm/idle_page_tracking.rst; samples: HeMem (Raybuck et al., SOSP 2021)",
    when: "Programs whose hot pages stay the same for many intervals.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|fast, params| Ok(Some(Box::new(Sampled::new(fast, Settings::take(params)?))))),
};

settings! {
    /// Settings of `sampled`.
    pub struct Settings {
        /// an interval
        interval: Duration = Duration::from_millis(100), Times::micros(1..=3_600_000_000);
        /// one access in how many is looked at; 0: accessed bits are scanned instead
        every: u32 = 0, 0..=u32::MAX;
        /// intervals of the last eight in which a page was accessed that should be fast
        seen: u32 = 2, 1..=8;
    }
}

/// The mark of the current interval.
const NOW: u8 = 1 << 7;

/// The `sampled` policy.
struct Sampled {
    settings: Settings,
    sides: Sides,
    /// The intervals in which each page was accessed, the latest in [`NOW`].
    history: Vec<u8>,
    /// End of the current interval.
    end: Duration,
}

impl Sampled {
    fn new(fast: usize, settings: Settings) -> Self {
        Self {
            end: settings.interval,
            settings,
            sides: Sides::new(fast),
            history: Vec::new(),
        }
    }

    /// Ends the interval: pages seen more often take the places of those seen less.
    fn exchange(&mut self, time: Duration, plan: &mut Plan) {
        self.end = time + self.settings.interval;
        let seen = |page: PageId| {
            let history = self.history[page.index()];
            (history.count_ones(), history)
        };
        let mut coming = self.sides.pages(Side::Slow);
        coming.retain(|page| seen(*page).0 >= self.settings.seen);
        coming.sort_by_key(|page| (Reverse(seen(*page)), *page));
        let mut going = match coming.is_empty() {
            true => Vec::new(),
            false => self.sides.pages(Side::Fast),
        };
        going.sort_by_key(|page| (seen(*page), *page));
        let mut going = going.into_iter();
        for page in coming {
            if !self.sides.has_room() {
                let more = |victim: &PageId| {
                    let history = |page: PageId| self.history[page.index()].count_ones();
                    history(page) > history(*victim)
                };
                let Some(victim) = going.next().filter(more) else {
                    break;
                };
                self.sides.go(victim, Side::Slow, plan);
            }
            self.sides.go(page, Side::Fast, plan);
        }
        self.history.iter_mut().for_each(|history| *history >>= 1);
    }

    fn see(&mut self, page: PageId) {
        if self.sides.of(page).is_some() {
            self.history[page.index()] |= NOW;
        }
    }
}

impl Migration for Sampled {
    fn came(&mut self, page: PageId) -> Side {
        let side = self.sides.came(page);
        self.history.resize(self.sides.end(), 0);
        side
    }

    fn gone(&mut self, page: PageId) {
        self.sides.gone(page);
        self.history.resize(self.sides.end(), 0);
        self.history[page.index()] = 0;
    }

    fn every(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.settings.every)
    }

    fn sampled(&mut self, access: Access, time: Duration, plan: &mut Plan) {
        if time >= self.end {
            self.exchange(time, plan);
        }
        self.see(access.page);
    }

    fn next_scan(&self) -> Option<Duration> {
        (self.settings.every == 0).then_some(self.end)
    }

    fn scanned(&mut self, accessed: &[Access], time: Duration, plan: &mut Plan) {
        accessed.iter().for_each(|access| self.see(access.page));
        self.exchange(time, plan);
    }

    fn stays(&mut self, page: PageId, side: Side) {
        self.sides.lies(page, side);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Move, Spec};
    use super::*;

    #[test]
    fn the_page_seen_more_often_is_fast() {
        let spec = Spec::parse("sampled:interval=1ms").unwrap();
        let mut policy = spec.policy(1).unwrap().unwrap();
        let mut plan = Plan::default();
        assert_eq!(policy.came(PageId(0)), Side::Fast);
        assert_eq!(policy.came(PageId(1)), Side::Slow);
        assert_eq!(policy.next_scan(), Some(Duration::from_millis(1)));
        let both = [PageId(0), PageId(1)].map(Access::read);
        policy.scanned(&both, Duration::from_millis(1), &mut plan);
        assert_eq!(plan.moves, [], "once is not twice");
        policy.scanned(&both[1..], Duration::from_millis(2), &mut plan);
        let go = |page, to| Move {
            page: PageId(page),
            to,
        };
        assert_eq!(plan.moves, [go(0, Side::Slow), go(1, Side::Fast)]);
    }
}
