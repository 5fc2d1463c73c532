//! Pages that change places where that is expected to save more than it costs, paid out of what
//! fast memory has saved: what [`mod@super::benefit`], [`mod@super::write_aware`] and
//! [`mod@super::balance`] have in common.

use std::num::NonZeroU32;
use std::time::Duration;

use super::sides::Sides;
use super::{Costs, Plan, Side};
use crate::replacement::PageId;
use crate::settings;

/// Lines of a page.
pub(super) const LINES: f64 = 64.0;

/// How often pages are compared until counts count half.
const LOOKS: f64 = 32.0;

/// How many times fewer accesses are counted where they do not pay.
const FEWEST: u32 = 16;

settings! {
    /// Settings of the policies that trade.
    pub struct Settings {
        /// one access in how many is counted where samples are free; fewer where they cost
        every: u32 = 16, 1..=1_000_000;
        /// share of what an access to slow memory loses that samples may cost
        watch: f64 = 0.02, 0.0001..=1.0;
        /// accesses after which those counted before count half, as a multiple of the lines of all
        /// pages
        turns: f64 = 32.0, 0.001..=1000.0;
        /// how many times as many accesses as were counted are expected
        expect: f64 = 2.0, 0.0..=100.0;
        /// share of the time by which a program may be slower than in slow memory alone, where no
        /// access waits for a busy memory
        slack: f64 = 0.01, 0.0..=1.0;
    }
}

/// What pages are worth in fast memory, of all pages.
pub(super) struct Worth<'a> {
    /// What was seen of each page, in any unit.
    pub(super) seen: &'a [f64],
    /// Picoseconds that slow memory takes longer by what is expected of a page, a unit of what was
    /// seen.
    pub(super) each: f64,
    /// Picoseconds that have to be saved beside the costs of moves if this page leaves fast memory.
    pub(super) leaving: &'a dyn Fn(PageId) -> f64,
    /// By how much more or less may be seen in fast memory for all moves together.
    pub(super) most: f64,
}

impl<'a> Worth<'a> {
    /// Returns that of pages of which so much was seen, as long as that saves nothing.
    pub(super) fn of(seen: &'a [f64]) -> Self {
        Self {
            seen,
            each: 0.0,
            leaving: &|_| 0.0,
            most: f64::INFINITY,
        }
    }
}

/// The sides of pages, and the account of what moves and samples cost and have saved. Times are in
/// picoseconds.
pub(super) struct Trade {
    settings: Settings,
    costs: Costs,
    pub(super) sides: Sides,
    /// Picoseconds that an access may lose at most, which samples may cost a share of.
    stake: u64,
    /// One access in how many is counted now.
    every: u32,
    known: u64,
    /// Accesses since pages were compared.
    accesses: u64,
    pub(super) saved: u128,
    pub(super) spent: u128,
}

impl Trade {
    /// Makes the account for a fast memory of this number of pages.
    pub(super) fn new(fast: usize, settings: Settings) -> Self {
        Self {
            every: settings.every,
            settings,
            costs: Costs::default(),
            sides: Sides::new(fast),
            stake: 0,
            known: 0,
            accesses: 0,
            saved: 0,
            spent: 0,
        }
    }

    /// Takes what moves cost; returns the factor for counts so far.
    #[must_use]
    pub(super) fn set_costs(&mut self, costs: Costs) -> f64 {
        self.costs = costs;
        self.set_stake(costs.line_ps)
    }

    /// Takes how many picoseconds an access may lose at most; returns the factor for counts so far.
    #[must_use]
    pub(super) fn set_stake(&mut self, stake: u64) -> f64 {
        self.stake = stake;
        self.set_every(self.least_every())
    }

    /// Returns how many picoseconds an access may lose at most.
    pub(super) fn stake(&self) -> u64 {
        self.stake
    }

    /// Returns what moves cost.
    pub(super) fn costs(&self) -> Costs {
        self.costs
    }

    /// Places a new page.
    pub(super) fn came(&mut self, page: PageId) -> Side {
        self.known += u64::from(self.sides.of(page).is_none());
        self.sides.came(page)
    }

    /// Forgets a page.
    pub(super) fn gone(&mut self, page: PageId) {
        self.known -= u64::from(self.sides.of(page).is_some());
        self.sides.gone(page);
    }

    /// Returns one access in how many is to be counted.
    pub(super) fn every(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.every)
    }

    /// Takes a sample of a known page, of an access that may save so many picoseconds, and does if
    /// the page lies where it should.
    pub(super) fn see(&mut self, saves: bool, time: u64) {
        if saves {
            self.saved += u128::from(self.of_samples(time));
        }
        self.accesses += u64::from(self.every);
        self.spent += picos(self.costs.sample);
    }

    /// Whether it is time to compare pages.
    pub(super) fn is_due(&self) -> bool {
        self.accesses as f64 >= self.known as f64 * LINES * self.settings.turns / LOOKS
    }

    /// Returns a time of an access that was counted, with that of the others for which it stands.
    pub(super) fn of_samples(&self, time: u64) -> u64 {
        u64::from(self.every).saturating_mul(time)
    }

    /// Returns how many times as much as was seen is expected.
    pub(super) fn expect(&self) -> f64 {
        self.settings.expect
    }

    /// Lets pages change places, the best pairs first, as long as they pay and can be paid. Returns
    /// the factor for counts so far.
    #[must_use]
    pub(super) fn exchange(&mut self, worth: &Worth<'_>, time: Duration, plan: &mut Plan) -> f64 {
        let allowed = self.allowed(time);
        let of = |page: &PageId| worth.seen[page.index()];
        let mut left = worth.most;
        let mut coming = self.sides.pages(Side::Slow);
        coming.sort_by(|one, other| of(other).total_cmp(&of(one)));
        let mut going = self.sides.pages(Side::Fast);
        going.sort_by(|one, other| of(one).total_cmp(&of(other)));
        let mut going = going.into_iter().peekable();
        for page in coming {
            let victim = match self.sides.has_room() {
                true => None,
                false => match going.peek().copied() {
                    None => break,
                    victim => victim,
                },
            };
            let moves =
                self.costs.promotion + victim.map_or(Duration::ZERO, |_| self.costs.demotion);
            let cost = self.cost(moves, plan);
            let more = of(&page) - victim.as_ref().map_or(0.0, of);
            let leaving = victim.map_or(0.0, worth.leaving);
            if more * worth.each <= cost as f64 + leaving || self.spent + cost > allowed {
                break;
            }
            if more > left {
                continue;
            }
            left -= more;
            self.spent += cost;
            if let Some(victim) = victim {
                going.next();
                self.sides.go(victim, Side::Slow, plan);
            }
            self.sides.go(page, Side::Fast, plan);
        }
        self.looked(time)
    }

    /// Lets pages leave fast memory, those first of which most was seen, as long as that pays and
    /// can be paid. Returns the factor for counts so far.
    #[must_use]
    pub(super) fn retreat(&mut self, worth: &Worth<'_>, time: Duration, plan: &mut Plan) -> f64 {
        let allowed = self.allowed(time);
        let of = |page: &PageId| worth.seen[page.index()];
        let mut left = worth.most;
        let mut going = self.sides.pages(Side::Fast);
        going.sort_by(|one, other| of(other).total_cmp(&of(one)));
        for page in going {
            let cost = self.cost(self.costs.demotion, plan);
            if of(&page) * worth.each <= cost as f64 || self.spent + cost > allowed {
                break;
            }
            if of(&page) > left {
                continue;
            }
            left -= of(&page);
            self.spent += cost;
            self.sides.go(page, Side::Slow, plan);
        }
        self.looked(time)
    }

    /// Returns what moves cost, the first ones of a plan with what all of it costs.
    fn cost(&self, moves: Duration, plan: &Plan) -> u128 {
        match plan.moves.is_empty() {
            true => picos(moves) + picos(self.costs.batch),
            false => picos(moves),
        }
    }

    /// Ends a look at all pages; returns the factor for counts so far.
    fn looked(&mut self, time: Duration) -> f64 {
        self.accesses = 0;
        (-1.0 / LOOKS).exp2() * self.adapt(time)
    }

    /// Counts fewer accesses if they do not pay, and more again if they do; returns the factor for
    /// counts so far.
    pub(super) fn adapt(&mut self, time: Duration) -> f64 {
        let least = self.least_every();
        let every = match self.spent > self.allowed(time) {
            true => self.every.saturating_mul(2),
            false => self.every / 2,
        };
        self.set_every(every.clamp(least, least * FEWEST))
    }

    /// Returns one access in how many may be counted at most.
    fn least_every(&self) -> u32 {
        let sample = picos(self.costs.sample) as f64;
        let most = self.stake as f64 * self.settings.watch;
        let paid = if sample > 0.0 { sample / most } else { 0.0 };
        (paid.ceil() as u32).clamp(self.settings.every, u32::MAX / FEWEST)
    }

    /// Counts one access in so many from now on; returns the factor for counts so far.
    fn set_every(&mut self, every: u32) -> f64 {
        let scale = f64::from(self.every) / f64::from(every);
        self.every = every;
        scale
    }

    /// Returns what may have been spent until now.
    fn allowed(&self, time: Duration) -> u128 {
        self.saved + (picos(time) as f64 * self.settings.slack) as u128
    }
}

fn picos(time: Duration) -> u128 {
    time.as_nanos() * 1000
}
