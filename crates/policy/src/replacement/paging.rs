//! Demand paging without a clock: which pages come in, and which are written as they leave.
//!
//! A driver without a clock gives a policy its touches in groups, with the state of the pages
//! ([`Replacement::page`]). Nothing happens between two touches: what leaves DRAM is written at
//! once, and what is read is there at once.

use super::table::Table;
use super::{PageId, Replacement, Touch};

/// What pages hold before they are touched first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Something without a copy: a page is written the first time it leaves.
    Filled,
    /// Zeros, which come back without a read until the page is written to.
    Zeros,
    /// What a file holds, which is read, and again until the page is written to.
    File,
    /// What is in the tier, where each page has a place.
    Tier,
}

/// How often pages came and went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Touches.
    pub touches: u64,
    /// Touches that write.
    pub writes: u64,
    /// Misses that read nothing.
    pub first_touches: u64,
    /// Misses that read the page from the tier.
    pub full_misses: u64,
    /// Pages that left DRAM.
    pub evictions: u64,
    /// Pages written to the tier.
    pub writebacks: u64,
    /// Pages that were given back.
    pub discards: u64,
}

/// State of a page, apart from whether it is resident, which its policy knows.
#[derive(Clone, Copy, Debug, Default)]
struct State(u8);

impl State {
    /// It was touched and has contents.
    const KNOWN: u8 = 1;
    /// It was written to since it was last written out.
    const DIRTY: u8 = 1 << 1;
    /// The tier has a copy, up to date unless the page is dirty.
    const COPY: u8 = 1 << 2;
    /// It holds zeros and was never written to.
    const ZEROS: u8 = 1 << 3;
    /// It holds what its file does and was never written to.
    const FILE: u8 = 1 << 4;
    /// It was written when it left DRAM, or since then.
    const SAVED: u8 = 1 << 5;
    /// It was given back, and does not hold what it held at first.
    const RETURNED: u8 = 1 << 6;
    /// It was never written to.
    const UNWRITTEN: u8 = Self::ZEROS | Self::FILE;

    #[inline]
    fn any(self, these: u8) -> bool {
        self.0 & these != 0
    }

    /// Has a page written to by a program.
    #[inline]
    fn write(&mut self) {
        self.0 = self.0 & !Self::UNWRITTEN | Self::DIRTY;
    }
}

/// The pages of one DRAM and its tier, and what was counted of them.
pub struct Paging {
    first: First,
    /// Whether the tier keeps the copies of pages that are in DRAM.
    keeps: bool,
    pages: Table<State>,
    counts: Counts,
    /// The touch at which the first page left.
    full_at: Option<u64>,
    /// Places of the tier that are in use, and the most that ever were.
    places: u64,
    most_places: u64,
}

impl Paging {
    /// Returns untouched pages. If the tier does not keep the copies of pages in
    /// DRAM (`keeps`), each page is written when it leaves.
    pub fn new(first: First, keeps: bool) -> Self {
        Self {
            first,
            keeps,
            pages: Table::default(),
            counts: Counts::default(),
            full_at: None,
            places: 0,
            most_places: 0,
        }
    }

    /// Returns what was counted so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the number of the touch at which the first page had to leave; `None` if none had to.
    pub fn full_at(&self) -> Option<u64> {
        self.full_at
    }

    /// Returns the most places of the tier that were in use at once.
    pub fn most_places(&self) -> u64 {
        self.most_places
    }

    /// Prefetches the state of a page into the processor's cache.
    #[inline]
    fn expect(&self, page: PageId) {
        self.pages.expect(&[page]);
    }

    /// Lets a program give a page back, which leaves DRAM and tier without a write.
    pub fn discard(&mut self, page: PageId, policy: &mut dyn Replacement) {
        if !self.pages.get(page).any(State::KNOWN) {
            return;
        }
        self.counts.discards += 1;
        policy.remove(page);
        self.give_up(page);
        *self.pages.at(page) = State(State::RETURNED);
    }

    /// Takes a line that a cache writes back, which touches no page: one that is in DRAM is dirty
    /// now, and one that has left clean is written late.
    pub fn write_line(&mut self, page: PageId, policy: &dyn Replacement) {
        let state = self.pages.get(page);
        if !state.any(State::KNOWN) {
            return;
        }
        if policy.contains(page) {
            self.pages.at(page).write();
        } else if !state.any(State::SAVED | State::DIRTY) {
            self.pages.at(page).write();
            self.write_out(page);
            self.pages.at(page).0 |= State::SAVED;
        }
    }

    /// Notes that a page is touched; returns its state before.
    #[inline]
    fn touched(&mut self, touch: Touch) -> State {
        let state = self.pages.at(touch.page);
        let before = *state;
        if touch.write {
            state.write();
        }
        before
    }

    /// Brings in a page, whose state was `before` its touch, in the place of another. `number` is
    /// that of the touch.
    #[inline]
    fn missed(&mut self, page: PageId, before: State, evicted: Option<PageId>, number: u64) {
        let reads = match before.any(State::KNOWN) {
            true => !before.any(State::ZEROS),
            false => self.begin(page, before),
        };
        match reads {
            true => self.counts.full_misses += 1,
            false => self.counts.first_touches += 1,
        }
        self.pages.at(page).0 &= !State::SAVED;
        if let Some(evicted) = evicted {
            self.full_at.get_or_insert(number);
            self.leave(evicted);
        }
        if reads && !self.keeps {
            self.give_up(page);
        }
    }

    /// Notes what a page holds that was not touched so far; returns whether it is read.
    #[inline]
    fn begin(&mut self, page: PageId, before: State) -> bool {
        let state = self.pages.at(page);
        state.0 = state.0 & !State::RETURNED | State::KNOWN;
        let (reads, unwritten) = match self.first {
            First::Filled => return false,
            First::Tier if before.any(State::RETURNED) => return false,
            First::Tier => {
                self.settle(page);
                return true;
            }
            First::Zeros => (false, State::ZEROS),
            First::File => (true, State::FILE),
        };
        if !state.any(State::DIRTY) {
            state.0 |= unwritten;
        }
        reads
    }

    /// Lets a page leave DRAM, written unless the tier has what it holds.
    #[inline]
    fn leave(&mut self, page: PageId) {
        self.counts.evictions += 1;
        let state = self.pages.get(page);
        let has_copy = state.any(State::COPY) && !state.any(State::DIRTY);
        if !has_copy && !state.any(State::UNWRITTEN) {
            self.pages.at(page).0 |= State::SAVED;
            self.write_out(page);
        }
    }

    /// Writes a page that stays, as its policy asks; none if the tier holds no page of DRAM.
    fn write_staying(&mut self, page: PageId) {
        if self.keeps && self.pages.get(page).any(State::DIRTY) {
            self.write_out(page);
        }
    }

    #[inline]
    fn write_out(&mut self, page: PageId) {
        self.counts.writebacks += 1;
        self.settle(page);
        self.pages.at(page).0 &= !State::DIRTY;
    }

    /// Gives a page a place in the tier if it has none.
    #[inline]
    fn settle(&mut self, page: PageId) {
        let state = self.pages.at(page);
        if !state.any(State::COPY) {
            state.0 |= State::COPY;
            self.places += 1;
            self.most_places = self.most_places.max(self.places);
        }
    }

    /// Drops the tier's copy of a page and frees its place.
    fn give_up(&mut self, page: PageId) {
        let state = self.pages.at(page);
        if state.any(State::COPY) {
            state.0 &= !State::COPY;
            self.places -= 1;
        }
    }
}

/// How many touches ahead the state of a page is prefetched into the processor's cache.
const AHEAD: usize = 32;
/// How many touches ahead what a miss changes is prefetched, by that state.
const NEAR: usize = 8;

/// Touches pages in a row. A policy compiles its own loop of it, so that no touch is a virtual
/// call.
#[inline]
pub(super) fn page(
    policy: &mut (impl Replacement + ?Sized),
    touches: &[Touch],
    paging: &mut Paging,
) {
    let mut soon = touches.iter();
    let mut next = touches.get(NEAR..).unwrap_or_default().iter();
    for touch in soon.by_ref().take(AHEAD) {
        policy.expect(&[touch.page]);
        paging.expect(touch.page);
    }
    let made = paging.counts.touches;
    paging.counts.touches += touches.len() as u64;
    paging.counts.writes += touches.iter().filter(|touch| touch.write).count() as u64;
    for (&touch, number) in touches.iter().zip(made + 1..) {
        if let Some(soon) = soon.next() {
            policy.expect(&[soon.page]);
            paging.expect(soon.page);
        }
        if let Some(next) = next.next() {
            policy.expect_misses(&[next.page]);
        }
        let before = paging.touched(touch);
        let write = touch.write || before.any(State::DIRTY);
        let touch = Touch { write, ..touch };
        let super::Answer::Miss { evicted } = policy.touch(touch) else {
            continue;
        };
        paging.missed(touch.page, before, evicted, number);
        if evicted.is_some() && policy.has_writes() {
            for page in policy.writes() {
                paging.write_staying(page);
            }
        }
    }
}
