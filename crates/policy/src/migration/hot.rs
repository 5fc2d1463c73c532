//! `hot`: Linux's memory tiering: a page of slow memory that is accessed soon after it was marked
//! is hot.
//!
//! Linux goes through the pages of slow memory bit by bit and takes access away; the next access to
//! such a page is a *hint fault*. If it comes within the hot threshold, the page is promoted,
//! unless too much was in the last second. The threshold follows the rate limit: it sinks if there
//! are more candidates, and rises if there are fewer (Linux 6.1, kernel/sched/fair.c,
//! `should_numa_migrate_memory`). While there is room, every hint fault promotes.
//!
//! For a page that comes to a full memory the one goes that was not accessed for longest, as far as
//! accessed bits show it at the scans. Linux frees memory down to its watermarks in the background
//! instead.

use std::time::Duration;

use super::sides::Sides;
use super::{Access, Entry, Make, Migration, Plan, Side};
use crate::list::{Links, List};
use crate::page::PAGE_BYTES;
use crate::replacement::PageId;
use crate::settings;
use crate::sizes::Sizes;
use crate::times::Times;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "hot",
    summary: "Linux's tiering: pages that are accessed soon after they were marked, up to a rate",
    paper: "Linux 6.1, numa_balancing=2: kernel/sched/fair.c and admin-guide/sysctl/kernel.rst",
    when: "To know what the kernel would do by itself.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|fast, params| Ok(Some(Box::new(Hot::new(fast, Settings::take(params)?))))),
};

settings! {
    /// Settings of `hot`; the defaults are Linux's.
    pub struct Settings {
        /// time from mark to access within which a page is hot
        threshold: Duration = Duration::from_secs(1), Times::micros(1..=3_600_000_000);
        /// bytes a second that may be promoted
        rate: u64 = 65_536 << 20, Sizes(PAGE_BYTES..=1 << 50);
        /// time between two scans that mark pages
        period: Duration = Duration::from_secs(1), Times::micros(1..=3_600_000_000);
        /// memory that a scan marks
        scan: u64 = 256 << 20, Sizes(PAGE_BYTES..=1 << 50);
        /// time after which the threshold follows the rate
        adjust: Duration = Duration::from_secs(60), Times::micros(1..=3_600_000_000);
    }
}

/// Steps of the threshold up to its maximum, twice the setting.
const STEPS: u32 = 16;

const SECOND: Duration = Duration::from_secs(1);

/// The `hot` policy.
struct Hot {
    settings: Settings,
    sides: Sides,
    /// Pages of the fast side, the one accessed last at the front.
    order: List,
    links: Links,
    next_scan: Duration,
    /// Number of the page at which the next scan begins to mark.
    hand: usize,
    threshold: Duration,
    /// Pages so far that were hot enough.
    candidates: u64,
    /// Beginning of the current second of the rate limit, and the candidates until then.
    second: (Duration, u64),
    /// The last adjustment of the threshold, and the candidates until then.
    adjusted: (Duration, u64),
}

impl Hot {
    fn new(fast: usize, settings: Settings) -> Self {
        Self {
            sides: Sides::new(fast),
            order: List::default(),
            links: Links::default(),
            next_scan: settings.period,
            hand: 0,
            threshold: settings.threshold,
            candidates: 0,
            second: Default::default(),
            adjusted: Default::default(),
            settings,
        }
    }

    /// Names the next pages of slow memory, each once at most.
    fn mark(&mut self, plan: &mut Plan) {
        let most = (self.settings.scan / PAGE_BYTES) as usize;
        let end = self.sides.end();
        for _ in 0..end {
            if plan.hints.len() == most {
                return;
            }
            let page = PageId((self.hand % end) as u32);
            self.hand = (self.hand + 1) % end;
            if self.sides.of(page) == Some(Side::Slow) {
                plan.hints.push(page);
            }
        }
    }

    /// Has the threshold follow the rate limit.
    fn adjust(&mut self, time: Duration) {
        let (since, before) = self.adjusted;
        if time.saturating_sub(since) <= self.settings.adjust {
            return;
        }
        let found = u128::from(self.candidates - before);
        let seconds = self.settings.adjust.as_nanos();
        let wanted = u128::from(self.settings.rate / PAGE_BYTES) * seconds / SECOND.as_nanos();
        let step = self.settings.threshold * 2 / STEPS;
        if found * 10 > wanted * 11 {
            self.threshold = self.threshold.saturating_sub(step).max(step);
        } else if found * 10 < wanted * 9 {
            self.threshold = (self.threshold + step).min(self.settings.threshold * 2);
        }
        self.adjusted = (time, self.candidates);
    }

    /// Counts a candidate, and returns whether it is one too many in this second.
    fn is_limited(&mut self, time: Duration) -> bool {
        self.candidates += 1;
        if time.saturating_sub(self.second.0) > SECOND {
            self.second = (time, self.candidates);
        }
        self.candidates - self.second.1 >= self.settings.rate / PAGE_BYTES
    }

    fn leave(&mut self, page: PageId) {
        if self.sides.of(page) == Some(Side::Fast) {
            self.order.remove(&mut self.links, page.0);
        }
    }

    fn enter(&mut self, page: PageId) {
        self.order.push_front(&mut self.links, page.0);
    }
}

impl Migration for Hot {
    fn came(&mut self, page: PageId) -> Side {
        let known = self.sides.of(page).is_some();
        let side = self.sides.came(page);
        if side == Side::Fast && !known {
            self.enter(page);
        }
        side
    }

    fn gone(&mut self, page: PageId) {
        self.leave(page);
        self.sides.gone(page);
    }

    fn next_scan(&self) -> Option<Duration> {
        Some(self.next_scan)
    }

    fn scanned(&mut self, accessed: &[Access], time: Duration, plan: &mut Plan) {
        self.next_scan = time + self.settings.period;
        for Access { page, .. } in accessed {
            if self.sides.of(*page) == Some(Side::Fast) {
                self.order.move_to_front(&mut self.links, page.0);
            }
        }
        self.mark(plan);
    }

    fn hinted(&mut self, access: Access, waited: Duration, time: Duration, plan: &mut Plan) {
        let page = access.page;
        if self.sides.of(page) != Some(Side::Slow) {
            return;
        }
        if !self.sides.has_room() {
            self.adjust(time);
            if waited >= self.threshold || self.is_limited(time) {
                return;
            }
            let Some(victim) = self.order.back().map(PageId) else {
                return;
            };
            self.leave(victim);
            self.sides.go(victim, Side::Slow, plan);
        }
        self.sides.go(page, Side::Fast, plan);
        self.enter(page);
    }

    fn stays(&mut self, page: PageId, side: Side) {
        self.leave(page);
        self.sides.lies(page, side);
        if self.sides.of(page) == Some(Side::Fast) {
            self.enter(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Move, Spec};
    use super::*;
    use crate::params::Params;

    #[test]
    fn a_page_accessed_soon_after_its_mark_takes_the_place_of_the_oldest() {
        let spec = Spec::parse("hot:threshold=10ms,period=20ms,scan=4K").unwrap();
        let mut policy = spec.policy(2).unwrap().unwrap();
        let ms = Duration::from_millis;
        for page in 0..4 {
            policy.came(PageId(page));
        }
        let mut plan = Plan::default();
        policy.scanned(&[Access::read(PageId(0))], ms(20), &mut plan);
        assert_eq!(plan.hints, [PageId(2)], "one page of slow memory at a time");
        policy.hinted(Access::read(PageId(2)), ms(10), ms(30), &mut plan);
        assert_eq!(plan.moves, [], "too late");
        policy.hinted(Access::read(PageId(3)), ms(9), ms(29), &mut plan);
        let go = |page, to| Move {
            page: PageId(page),
            to,
        };
        assert_eq!(plan.moves, [go(1, Side::Slow), go(3, Side::Fast)]);
    }

    #[test]
    fn the_threshold_follows_the_rate() {
        // One page a second.
        let mut params = Params::parse("threshold=160ms,rate=4K,adjust=1s").unwrap();
        let mut hot = Hot::new(1, Settings::take(&mut params).unwrap());
        let ms = Duration::from_millis;
        hot.adjust(ms(1001));
        assert_eq!(hot.threshold, ms(180), "no candidates: it rises");
        for _ in 0..3 {
            hot.is_limited(ms(1500));
        }
        hot.adjust(ms(2002));
        assert_eq!(hot.threshold, ms(160), "three instead of one: it sinks");
    }
}
