//! Prefetching: pages that are read before they are touched, by the engine that the other drivers
//! run too.
//!
//! A prefetched page is held outside of the program until it is touched, so that its use, or that
//! it left without one, is known. That takes a fault for each page. The pages of a prediction that
//! goes on are touched in order; of these most are mapped in advance when one of them is touched,
//! and only the next one behind them is held, as the page is at which Linux's readahead of files
//! goes on. Its fault says that those before it were used. A page that leaves before that counts as
//! wasted.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use terrace_base::{Error, Result};
use terrace_policy::page::{Location, Memory, Page, Residence, Slot, Space, Thread};
use terrace_policy::prefetch::{self, Engine, LifeStory, Outcome, Source};
use terrace_policy::replacement::PageId;

use super::faults::Mapped;
use super::{Fault, Known, Pager, State};
use crate::ranges::Ranges;
use crate::slow::Buffer;

/// Pages that are mapped in advance at the fault of one before them. Such a fault takes about as
/// long as mapping ten pages.
const IN_ADVANCE: usize = 31;
/// Pages that may be on their way, and the number below which more are begun: several at once, so
/// that neighbours are read together.
const UNDER_WAY: (usize, usize) = (128, 64);
/// All pages are those of one process.
const SPACE: Space = Space(0);

/// What is prefetched.
pub(super) struct Ahead {
    engine: Engine,
    /// Pages that may be on their way, or wait to be touched.
    window: usize,
    /// Pages that are on their way, and that no thread waits for.
    under_way: usize,
    /// Pages that have come, and are not mapped.
    held: FxHashMap<u32, Box<Buffer>>,
    /// Pages that were mapped before they were touched, as far as is known.
    unseen: usize,
    /// Pages of predictions that go on, in the order in which they are expected to be touched.
    walks: FxHashMap<Source, VecDeque<PageId>>,
    /// The walk of each of these.
    walk_of: FxHashMap<u32, Source>,
}

/// What the engine may know of memory.
struct View<'a> {
    ranges: &'a Ranges,
    pages: &'a [Known],
}

impl Memory for View<'_> {
    fn residence(&mut self, at: Location) -> Residence {
        let Some(page) = self.ranges.find(at.page) else {
            return Residence::Nowhere;
        };
        let known = &self.pages[page.index()];
        match known.state {
            State::Nowhere | State::Lost => Residence::Nowhere,
            State::Resident | State::Sampled(_) if known.unseen => Residence::InTier,
            State::Resident | State::Sampled(_) | State::Staged(_) | State::Fetching => {
                Residence::InMemory
            }
            State::Slow | State::Coming | State::Held => Residence::InTier,
        }
    }

    /// Pages that keep their places have them in the order of their numbers.
    fn slot(&mut self, at: Location) -> Option<Slot> {
        self.ranges.find(at.page).map(|page| Slot(page.0.into()))
    }

    fn page_in(&mut self, Slot(slot): Slot) -> Option<Location> {
        let known = self.pages.get(slot as usize)?;
        (known.state != State::Nowhere).then(|| location(known))
    }
}

fn location(known: &Known) -> Location {
    Location::new(SPACE, Page(known.at))
}

impl Ahead {
    /// Makes an engine for a DRAM of this many pages; `None` if there is no predictor.
    ///
    /// # Errors
    /// Returns a usage error for a predictor that has to know the future.
    pub fn new(spec: Option<&prefetch::Spec>, dram: usize) -> Result<Option<Self>> {
        let Some(spec) = spec else {
            return Ok(None);
        };
        let mut engine = spec.engine(None).map_err(Error::usage)?;
        let window = prefetch::window(dram as u64).min(dram as u64 / 4);
        engine.set_window(window);
        Ok(Some(Self {
            engine,
            window: window as usize,
            under_way: 0,
            held: FxHashMap::default(),
            unseen: 0,
            walks: FxHashMap::default(),
            walk_of: FxHashMap::default(),
        }))
    }

    /// Returns the life story of all predictions.
    pub fn story(&self) -> &LifeStory {
        self.engine.story()
    }

    fn has_room(&self) -> bool {
        self.under_way < UNDER_WAY.0 && self.under_way + self.held.len() + self.unseen < self.window
    }

    /// Notes that a page is the last of a walk so far.
    fn join(&mut self, source: Source, page: PageId) {
        self.leave(page);
        self.walk_of.insert(page.0, source);
        self.walks.entry(source).or_default().push_back(page);
    }

    /// Takes a page out of its walk, if it has one.
    fn leave(&mut self, page: PageId) {
        if let Some(source) = self.walk_of.remove(&page.0)
            && let Some(walk) = self.walks.get_mut(&source)
        {
            walk.retain(|other| *other != page);
            if walk.is_empty() {
                self.walks.remove(&source);
            }
        }
    }

    /// Takes a page and those before it out of their walk. Returns these, and the pages that come
    /// next.
    fn reach(&mut self, page: PageId) -> (Vec<PageId>, Vec<PageId>) {
        let walk = self.walk_of.get(&page.0);
        let Some(walk) = walk.and_then(|source| self.walks.get(source)) else {
            return (Vec::new(), Vec::new());
        };
        let before = |other: &&PageId| **other != page;
        let passed: Vec<_> = walk.iter().take_while(before).copied().collect();
        let next = walk.iter().skip(passed.len() + 1).take(IN_ADVANCE);
        let next = next.copied().collect();
        passed.iter().for_each(|passed| self.leave(*passed));
        self.leave(page);
        (passed, next)
    }
}

impl Pager {
    /// Tells the engine of a fault on a page in the slow memory.
    pub(super) fn foresee(&mut self, fault: &Fault) {
        if let Some(ahead) = &mut self.ahead {
            let mut view = View {
                ranges: &self.ranges,
                pages: &self.pages,
            };
            let address = fault.address + u64::from(fault.offset);
            let fault = terrace_policy::page::Fault::new(Thread(fault.thread), SPACE, address);
            ahead.engine.fault(&fault, &mut view);
        }
    }

    /// Begins to read predicted pages, as long as no fault waits for room.
    pub(super) fn prefetch(&mut self) {
        let few = |ahead: &Ahead| ahead.under_way <= UNDER_WAY.1;
        if !self.ahead.as_ref().is_some_and(few) {
            return;
        }
        let mut pages = Vec::new();
        while self.suspended == 0
            && self.waiting.is_empty()
            && self.ahead.as_ref().is_some_and(Ahead::has_room)
            && self.has_room()
            && let Some(page) = self.next_prefetch()
        {
            pages.push(page);
            self.begin_prefetch(page);
        }
        self.store.fetch_ahead(&pages);
    }

    /// Returns the next page that the engine asks for and that lies in the slow memory alone.
    fn next_prefetch(&mut self) -> Option<PageId> {
        let ahead = self.ahead.as_mut()?;
        loop {
            let mut view = View {
                ranges: &self.ranges,
                pages: &self.pages,
            };
            let at = ahead.engine.next(&mut view)?;
            let Some(page) = self.ranges.find(at.page) else {
                ahead.engine.end(at, Outcome::Wasted);
                continue;
            };
            // A page that was fetched already, and is asked for once more, waits to be touched.
            if self.pages[page.index()].state == State::Slow {
                return Some(page);
            }
        }
    }

    fn begin_prefetch(&mut self, page: PageId) {
        self.resident += 1;
        self.page(page).state = State::Coming;
        let at = location(&self.pages[page.index()]);
        if let Some(ahead) = &mut self.ahead {
            ahead.under_way += 1;
            if let Some(source) = ahead.engine.walk_of(at) {
                ahead.join(source, page);
            }
        }
        if let Some(evicted) = self.policy.prefetch(page) {
            self.leave(evicted);
        }
    }

    /// A prefetched page has come, and no thread waits for it.
    pub(super) fn hold(&mut self, page: PageId, buffer: Box<Buffer>) {
        let Some(ahead) = &mut self.ahead else {
            return;
        };
        ahead.under_way -= 1;
        ahead.held.insert(page.0, buffer);
        self.page(page).state = State::Held;
        self.figures.peak_dram = self.figures.peak_dram.max(self.in_dram() as u64);
        if self.page(page).leaving {
            self.let_go(page);
        }
    }

    /// A page could not be prefetched: it is as if nobody had tried.
    pub(super) fn not_prefetched(&mut self, page: PageId) {
        if let Some(ahead) = &mut self.ahead {
            ahead.under_way -= 1;
        }
        self.policy.remove(page);
        self.back_in_slow(page);
    }

    /// A held page leaves: the slow memory has it.
    pub(super) fn let_go(&mut self, page: PageId) {
        self.release_held(page);
        self.back_in_slow(page);
    }

    /// Gives the buffer of a held page back.
    pub(super) fn release_held(&mut self, page: PageId) {
        let ahead = self.ahead.as_mut();
        if let Some(buffer) = ahead.and_then(|ahead| ahead.held.remove(&page.0)) {
            self.store.give_back(buffer);
        }
    }

    fn back_in_slow(&mut self, page: PageId) {
        self.resident -= 1;
        let known = self.page(page);
        (known.state, known.leaving) = (State::Slow, false);
        self.unused(page);
    }

    /// A thread touches a page that is on its way already.
    pub(super) fn overtake(&mut self, page: PageId, fault: Fault) {
        if let Some(ahead) = &mut self.ahead {
            ahead.under_way -= 1;
        }
        self.store.promote(page);
        self.await_read(page, &fault, true);
        let known = self.page(page);
        (known.state, known.leaving) = (State::Fetching, false);
        self.touch(page, fault.write);
        self.advance(page, Outcome::Late);
        self.foresee(&fault);
    }

    /// A thread touches a held page.
    pub(super) fn first_use(&mut self, page: PageId, fault: Fault) {
        let Some(buffer) = self.ahead.as_mut().and_then(|a| a.held.remove(&page.0)) else {
            return;
        };
        let (followers, written) = self.advance(page, Outcome::Used);
        // The thread must not meet the next page before it is there.
        self.map_in_advance(&followers, fault.write && written);
        let mapped = self.map(page, &buffer, fault.write);
        if let (Mapped::NotYet, Some(ahead)) = (&mapped, &mut self.ahead) {
            ahead.held.insert(page.0, buffer);
            return self.waiting.push_back(fault);
        }
        self.store.give_back(buffer);
        self.touch(page, fault.write);
        self.came(page, fault.write || matches!(mapped, Mapped::Before));
    }

    /// Tells the engine of the first touch of a page, and of those that its walk has passed.
    /// Returns those that come next, and whether all that it has passed were written.
    fn advance(&mut self, page: PageId, outcome: Outcome) -> (Vec<PageId>, bool) {
        let Some(ahead) = &mut self.ahead else {
            return (Vec::new(), false);
        };
        let (passed, next) = ahead.reach(page);
        let written = !passed.is_empty() && passed.iter().all(|page| self.page(*page).dirty);
        for passed in passed {
            self.seen(passed);
        }
        self.used(page, outcome);
        (next, written)
    }

    /// Maps held pages before they are touched, up to the first that has not come. Where the walk
    /// writes all pages, these count as written, and their first writes are no faults.
    fn map_in_advance(&mut self, pages: &[PageId], writes: bool) {
        // The last of as many as may be mapped is held, so that its fault shows where the program
        // is.
        let pages = match pages.len() {
            IN_ADVANCE => &pages[..IN_ADVANCE - 1],
            _ => &pages[..pages.len().saturating_sub(1)],
        };
        for &page in pages {
            if self.page(page).unseen {
                continue;
            }
            let held = self.ahead.as_mut().and_then(|a| a.held.remove(&page.0));
            let Some(buffer) = held else {
                return;
            };
            let mapped = self.map(page, &buffer, writes);
            if let (Mapped::NotYet | Mapped::Never, Some(ahead)) = (&mapped, &mut self.ahead) {
                ahead.held.insert(page.0, buffer);
                return;
            }
            self.store.give_back(buffer);
            self.came(page, writes || matches!(mapped, Mapped::Before));
            self.page(page).unseen = true;
            if let Some(ahead) = &mut self.ahead {
                ahead.unseen += 1;
            }
        }
    }

    /// A page was touched. If it was mapped in advance and this is its first touch, the policy and
    /// the engine are told; returns whether that is so.
    pub(super) fn seen(&mut self, page: PageId) -> bool {
        if !self.no_longer_unseen(page) {
            return false;
        }
        // The policy has let go of a page that leaves.
        let known = self.page(page);
        if known.state == State::Resident && !known.leaving {
            self.touch(page, false);
        }
        self.used(page, Outcome::Used);
        true
    }

    fn used(&mut self, page: PageId, outcome: Outcome) {
        let at = location(&self.pages[page.index()]);
        if let Some(ahead) = &mut self.ahead {
            let mut view = View {
                ranges: &self.ranges,
                pages: &self.pages,
            };
            ahead.engine.touched(at, outcome, &mut view);
        }
    }

    /// A prefetched page has left, and nothing is known of a touch.
    pub(super) fn unused(&mut self, page: PageId) {
        let at = location(&self.pages[page.index()]);
        self.no_longer_unseen(page);
        if let Some(ahead) = &mut self.ahead {
            ahead.leave(page);
            ahead.engine.evicted(at);
        }
    }

    /// Ends the wait for a touch of a page, and returns whether there was one.
    fn no_longer_unseen(&mut self, page: PageId) -> bool {
        let was = std::mem::take(&mut self.page(page).unseen);
        if was && let Some(ahead) = &mut self.ahead {
            ahead.unseen -= 1;
        }
        was
    }

    /// Returns the life story of all predictions.
    pub(super) fn story(&self) -> LifeStory {
        self.ahead
            .as_ref()
            .map(|ahead| *ahead.story())
            .unwrap_or_default()
    }
}
