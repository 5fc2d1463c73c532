//! Filling ahead: pages behind one that is touched first are filled with it, because programs fill
//! most of their memory in order, and a fault takes about as long as filling ten pages.
//!
//! A page that was filled ahead may be written without a fault, so nothing is known of its contents
//! until it leaves DRAM. Then they tell: one that still is zeros was not written. If the run has
//! not gone on behind it either, it was filled for nothing.

use std::ops::Range;

use terrace_policy::page::Page;
use terrace_policy::replacement::PageId;
use terrace_policy::write::Contents;

use super::faults::{Mapped, ZEROS};
use super::{Filled, Known, Pager, State};

/// Pages that are filled ahead at most, and the part of DRAM that they are at most.
const MOST: usize = 32;
const LEAST_SHARE: usize = 64;
/// Runs that are known at the same time, as of threads that fill memory side by side.
const RUNS: usize = 8;

/// First touches in a row of addresses.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The page of its last fault.
    at: Page,
    /// The page at which it goes on.
    next: Page,
    /// Pages that were to be filled ahead at its last fault.
    window: usize,
}

/// The runs that were met last, the latest first.
#[derive(Debug, Default)]
pub(super) struct Runs([Option<Run>; RUNS]);

impl Runs {
    /// Returns how many pages are filled behind a first touch, at most `most`: twice as many as
    /// last time where it goes on with a run, as the kernel's readahead of files, and else none. A
    /// fault that had to wait and is served again is told the same.
    fn meet(&mut self, page: Page, most: usize) -> usize {
        let meets = |run: &Option<Run>| run.is_some_and(|run| run.at == page || run.next == page);
        let known = self.0.iter().position(meets);
        self.0[..=known.unwrap_or(RUNS - 1)].rotate_right(1);
        let window = match self.0[0].filter(|_| known.is_some()) {
            Some(run) if run.at == page => return run.window,
            Some(run) => (2 * run.window).max(1).min(most),
            None => 0,
        };
        let (at, next) = (page, Page(page.0 + 1));
        self.0[0] = Some(Run { at, next, window });
        window
    }

    /// Returns the pages that were filled behind the last fault of the run that goes on at a page.
    fn filled_before(&self, page: Page) -> Range<u64> {
        let mut runs = self.0.iter().flatten();
        let run = runs.find(|run| run.next == page);
        run.map_or(0..0, |run| run.at.0 + 1..run.next.0)
    }

    /// Notes that the latest run goes on behind so many pages that were filled.
    fn passed(&mut self, filled: usize) {
        if let [Some(run), ..] = &mut self.0 {
            run.next.0 += filled as u64;
        }
    }
}

impl Pager {
    /// Fills pages behind one that is touched first, as far as nothing is known of them.
    pub(super) fn fill_ahead(&mut self, page: PageId, write: bool) {
        let at = Page(self.pages[page.index()].at);
        self.pass(at);
        let most = self.runs.meet(at, MOST.min(self.dram / LEAST_SHARE));
        let filled =
            (1..=most as u64).take_while(|after| self.fill_next(Page(at.0 + after), write));
        let filled = filled.count();
        self.runs.passed(filled);
    }

    /// Notes that the run that goes on at a page has touched what was filled before it.
    fn pass(&mut self, at: Page) {
        for page in self.runs.filled_before(at) {
            if let Some(page) = self.ranges.find(Page(page))
                && self.page(page).filled == Filled::Ahead
            {
                self.page(page).filled = Filled::Passed;
            }
        }
    }

    /// Fills a page that is not touched yet, and returns whether it did.
    fn fill_next(&mut self, at: Page, write: bool) -> bool {
        let next = self.ranges.find(at);
        let Some(next) = next.filter(|next| self.page(*next).state == State::Nowhere) else {
            return false;
        };
        let hinders = self.suspended > 0 || !self.waiting.is_empty();
        if hinders || !self.has_room() || !matches!(self.fill_one(next, write), Mapped::Now) {
            return false;
        }
        let known = self.page(next);
        (known.dirty, known.filled) = (false, Filled::Ahead);
        true
    }

    /// Takes pages over from a parent, which counts those that it has filled for nothing.
    pub(super) fn take_filled_over(&mut self) {
        let ahead = self.pages.iter_mut();
        let ahead = ahead.filter(|known| known.filled == Filled::Ahead);
        ahead.for_each(|known| known.filled = Filled::Passed);
    }
}

impl Known {
    /// Looks at what a page holds if it was filled ahead, now that nobody writes it any more.
    pub(super) fn look_at_filled(&mut self, contents: &Contents) {
        if self.filled == Filled::No {
            return;
        }
        self.dirty |= *contents != ZEROS.0;
        if self.dirty || self.filled == Filled::Passed {
            self.filled = Filled::No;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Touches pages in this order, skipping those that are filled; returns those that are filled.
    fn fill(order: impl IntoIterator<Item = u64>, most: usize) -> Vec<u64> {
        let (mut runs, mut known, mut ahead) = (Runs::default(), Vec::new(), Vec::new());
        for page in order {
            if known.contains(&page) {
                continue;
            }
            known.push(page);
            let window = runs.meet(Page(page), most) as u64;
            let free = (1..=window).take_while(|after| !known.contains(&(page + after)));
            let filled: Vec<u64> = free.map(|after| page + after).collect();
            runs.passed(filled.len());
            known.extend(&filled);
            ahead.extend(filled);
        }
        ahead
    }

    #[test]
    fn a_run_fills_twice_as_much_at_each_fault() {
        // Faults at 100, 101, 103, 106, 111, 120.
        let filled = fill(100..121, 8);
        let faults = [100, 101, 103, 106, 111, 120];
        let others: Vec<u64> = (100..129).filter(|page| !faults.contains(page)).collect();
        assert_eq!(filled, others);
    }

    /// Pages that cannot be filled at once, as DRAM has no room, do not end a run.
    #[test]
    fn a_fault_that_waits_keeps_its_run() {
        let mut runs = Runs::default();
        assert_eq!(
            [7, 8, 9, 9, 10].map(|page| runs.meet(Page(page), 32)),
            [0, 1, 2, 2, 4]
        );
    }

    #[test]
    fn several_runs_do_not_disturb_each_other() {
        let starts: Vec<u64> = (0..RUNS as u64).map(|run| 1000 * (run + 1)).collect();
        let order = (0..21).flat_map(|page| starts.iter().map(move |start| start + page));
        let expected: usize = fill(1000..1021, 8).len() * RUNS;
        assert_eq!(fill(order, 8).len(), expected);
    }

    #[test]
    fn pages_apart_from_each_other_fill_nothing() {
        let apart = fill((100..200).map(|page| 2 * page), 32);
        let (down, none) = (fill((100..200).rev(), 32), fill(100..200, 0));
        assert_eq!([apart, down, none].concat().len(), 0);
    }
}
