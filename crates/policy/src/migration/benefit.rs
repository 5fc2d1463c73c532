//! `benefit`: pages change places if what that is expected to save is more than what it costs.
//!
//! Accesses are counted by page, one in some. From time to time, when each line of each page could have been
//! accessed `turns` times, pages of slow memory with many accesses are compared with those of fast memory with
//! few, and counts are halved. A pair changes places if
//!
//! ```text
//! (more - noise) x time saved by an access > promotion + demotion
//! ```
//!
//! where `more` is by how many accesses their counts differ: as much as was seen is expected once more, so that
//! a page pays back what it has lost already, as one who rents skis buys them once the rent has cost as much
//! (Karlin et al. 1988). `noise` is a standard deviation of the difference of two counts of samples, without
//! which those pages would be chosen that happen to be seen often.
//!
//! A program may have been misjudged all the same, again and again. So moves are paid out of what fast memory has
//! saved so far, and a share of the time (`slack`): a program is never slower than in slow memory alone by more
//! than that share, however it behaves. With one access in many counted, that is as exact as the samples are.
//!
//! Samples are paid as well. A share (`watch`) of what an access to slow memory loses is the most that they may cost
//! for each access: a fraction of the most that there is to gain. Where they and the moves have cost more than what
//! may be spent, every second of them is left out, and of those again, until that is no longer so.
//!
//! A page has to be accessed some hundred to thousand times to pay for a move, which is what a shoot-down costs by
//! an access; so rounds are long. The default of `turns` was the best of 1/4 to 8 on nine programs that are not Oskin &
//! Loh's, and of 2 to 32 on four of them, with shoot-downs by interrupts; with batched ones, 2 to 16 are within 2 % of
//! it on those four. With samples of 200 ns, `watch` was the best of 0.01, 0.02, 0.04 and 0.08 on the nine, and so was
//! `turns` of 4, 8 and 16.

use std::cmp::Reverse;
use std::num::NonZeroU32;
use std::time::Duration;

use super::sides::Sides;
use super::{Costs, Entry, Make, Migration, Plan, Side};
use crate::replacement::PageId;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "benefit",
    summary: "pages change places where the accesses saved are worth more than the moves",
    paper: "Terrace; to buy once the rent has cost as much: Karlin et al. 1988, Competitive snoopy caching",
    when: "Programs that are not known: by its own count, moves never cost more than what they have saved and \
           `slack` of the time.",
    make: Make(|fast, params| Ok(Some(Box::new(Benefit::new(fast, Settings::take(params)?))))),
};

settings! {
    /// Settings of `benefit`.
    pub struct Settings {
        /// one access in how many is counted where samples are free; fewer where they cost
        every: u32 = 16, 1..=1_000_000;
        /// share of what an access to slow memory loses that samples may cost
        watch: f64 = 0.02, 0.0001..=1.0;
        /// accesses after which pages change places, as a multiple of the lines of all pages
        turns: f64 = 8.0, 0.001..=1000.0;
        /// standard deviations by which the counts of two pages have to differ
        noise: f64 = 1.0, 0.0..=10.0;
        /// share of the time by which a program may be slower than in slow memory alone
        slack: f64 = 0.01, 0.0..=1.0;
    }
}

/// Lines of a page.
const LINES: f64 = 64.0;

/// How many times fewer accesses are counted where they do not pay.
const FEWEST: u32 = 16;

/// The `benefit` policy. Times are in picoseconds.
struct Benefit {
    settings: Settings,
    costs: Costs,
    sides: Sides,
    /// One access in how many is counted now.
    every: u32,
    /// Samples of each page, those of earlier rounds halved at the end of each.
    counts: Vec<u32>,
    known: u64,
    /// Accesses of this round.
    accesses: u64,
    saved: u128,
    spent: u128,
}

impl Benefit {
    fn new(fast: usize, settings: Settings) -> Self {
        Self {
            every: settings.every,
            settings,
            costs: Costs::default(),
            sides: Sides::new(fast),
            counts: Vec::new(),
            known: 0,
            accesses: 0,
            saved: 0,
            spent: 0,
        }
    }

    /// Whether each line of each page could have been accessed often enough.
    fn is_round(&self) -> bool {
        self.accesses as f64 >= self.known as f64 * LINES * self.settings.turns
    }

    /// Returns one access in how many may be counted at most.
    fn least_every(&self) -> u32 {
        let sample = picos(self.costs.sample) as f64;
        let most = self.costs.line_ps as f64 * self.settings.watch;
        let paid = if sample > 0.0 { sample / most } else { 0.0 };
        (paid.ceil() as u32).clamp(self.settings.every, u32::MAX / FEWEST)
    }

    /// Counts one access in so many from now on.
    fn set_every(&mut self, every: u32) {
        let (before, now) = (u64::from(self.every), u64::from(every));
        if before != now {
            let scaled = |count: u32| u32::try_from(u64::from(count) * before / now);
            let counts = self.counts.iter_mut();
            counts.for_each(|count| *count = scaled(*count).unwrap_or(u32::MAX));
            self.every = every;
        }
    }

    /// Returns what may have been spent until now.
    fn allowed(&self, time: Duration) -> u128 {
        self.saved + (picos(time) as f64 * self.settings.slack) as u128
    }

    /// Counts fewer accesses if they do not pay, and more again if they do.
    fn adapt(&mut self, time: Duration) {
        let least = self.least_every();
        let every = match self.spent > self.allowed(time) {
            true => self.every.saturating_mul(2),
            false => self.every / 2,
        };
        self.set_every(every.clamp(least, least * FEWEST));
    }

    /// Returns what accesses take longer in slow memory.
    fn lost(&self, samples: u64) -> u128 {
        u128::from(samples * u64::from(self.every)) * u128::from(self.costs.line_ps)
    }

    /// Returns the samples of a page, 0 without a page.
    fn count(&self, page: Option<PageId>) -> u32 {
        page.map_or(0, |page| self.counts[page.index()])
    }

    /// Returns what it saves that a page takes the place of another, or free room.
    fn gain(&self, coming: PageId, going: Option<PageId>) -> u128 {
        let (coming, going) = (self.count(Some(coming)), self.count(going));
        let noise = self.settings.noise * (f64::from(coming) + f64::from(going)).sqrt();
        let more = f64::from(coming) - f64::from(going) - noise;
        (more.max(0.0) * self.lost(1) as f64) as u128
    }

    /// Lets pages change places, the best pairs first, as long as they pay and can be paid.
    fn exchange(&mut self, time: Duration, plan: &mut Plan) {
        let allowed = self.allowed(time);
        let batch = picos(self.costs.batch);
        let mut coming = self.sides.pages(Side::Slow);
        coming.sort_by_key(|page| (Reverse(self.count(Some(*page))), *page));
        let mut going = self.sides.pages(Side::Fast);
        going.sort_by_key(|page| (self.count(Some(*page)), *page));
        let mut going = going.into_iter();
        for page in coming {
            let victim = match self.sides.has_room() {
                true => None,
                false => match going.next() {
                    None => break,
                    victim => victim,
                },
            };
            let moves =
                self.costs.promotion + victim.map_or(Duration::ZERO, |_| self.costs.demotion);
            let first = if plan.moves.is_empty() { batch } else { 0 };
            let cost = picos(moves) + first;
            if self.gain(page, victim) <= cost || self.spent + cost > allowed {
                break;
            }
            self.spent += cost;
            if let Some(victim) = victim {
                self.sides.go(victim, Side::Slow, plan);
            }
            self.sides.go(page, Side::Fast, plan);
        }
        self.counts.iter_mut().for_each(|count| *count /= 2);
        self.accesses = 0;
        self.adapt(time);
    }
}

impl Migration for Benefit {
    fn set_costs(&mut self, costs: Costs) {
        self.costs = costs;
        self.set_every(self.least_every());
    }

    fn came(&mut self, page: PageId) -> Side {
        self.known += u64::from(self.sides.of(page).is_none());
        let side = self.sides.came(page);
        self.counts.resize(self.sides.end(), 0);
        side
    }

    fn gone(&mut self, page: PageId) {
        self.known -= u64::from(self.sides.of(page).is_some());
        self.sides.gone(page);
        self.counts.resize(self.sides.end(), 0);
        self.counts[page.index()] = 0;
    }

    fn every(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.every)
    }

    fn sampled(&mut self, page: PageId, time: Duration, plan: &mut Plan) {
        let Some(side) = self.sides.of(page) else {
            return;
        };
        if side == Side::Fast {
            self.saved += self.lost(1);
        }
        let count = &mut self.counts[page.index()];
        *count = count.saturating_add(1);
        self.accesses += u64::from(self.every);
        self.spent += picos(self.costs.sample);
        if self.is_round() {
            self.exchange(time, plan);
        }
    }

    fn stays(&mut self, page: PageId, side: Side) {
        self.sides.lies(page, side);
    }
}

fn picos(time: Duration) -> u128 {
    time.as_nanos() * 1000
}

#[cfg(test)]
mod tests {
    use super::super::{Move, Spec};
    use super::*;

    const COSTS: Costs = Costs {
        line_ps: 10_000,
        promotion: Duration::from_nanos(200),
        demotion: Duration::from_nanos(200),
        batch: Duration::ZERO,
        sample: Duration::ZERO,
    };

    /// Returns the moves after this number of accesses to the slow page of two.
    fn moves(text: &str, accesses: u32, time: Duration) -> Vec<Move> {
        let spec = Spec::parse(text).unwrap();
        let mut policy = spec.policy(1).unwrap().unwrap();
        policy.set_costs(COSTS);
        let mut plan = Plan::default();
        policy.came(PageId(0));
        policy.came(PageId(1));
        for _ in 0..accesses {
            policy.sampled(PageId(1), time, &mut plan);
        }
        plan.moves
    }

    #[test]
    fn pages_change_places_once_that_pays_and_can_be_paid() {
        // A round has 2 x 64 x 0.5 accesses, whose loss is 640 ns.
        let text = "benefit:every=1,turns=0.5,noise=0";
        let long = Duration::from_micros(40);
        let go = |page, to| Move {
            page: PageId(page),
            to,
        };
        assert_eq!(moves(text, 63, long), []);
        let both = [go(0, Side::Slow), go(1, Side::Fast)];
        assert_eq!(moves(text, 64, long), both);
        let short = Duration::from_nanos(39_999);
        assert_eq!(
            moves(text, 64, short),
            [],
            "a hundredth of it is not 400 ns"
        );
        let noisy = "benefit:every=1,turns=0.5,noise=4";
        assert_eq!(moves(noisy, 64, long), [], "(64 - 4 x 8) x 10 ns < 400 ns");
    }

    /// A sample of 200 ns is worth a fiftieth of the 10 ns that each of 1000 accesses may lose.
    #[test]
    fn samples_are_as_many_as_may_be_paid() {
        let settings = Settings::take(&mut crate::params::Params::default()).unwrap();
        let mut policy = Benefit::new(1, settings);
        let now = |policy: &Benefit| policy.every().map(NonZeroU32::get);
        assert_eq!(now(&policy), Some(16));
        let sample = Duration::from_nanos(200);
        policy.set_costs(Costs { sample, ..COSTS });
        assert_eq!(now(&policy), Some(1000));
        let time = Duration::from_micros(20);
        policy.counts = vec![9];
        policy.spent = 200_000;
        policy.adapt(time);
        assert_eq!(
            now(&policy),
            Some(1000),
            "a hundredth of the time is what was spent"
        );
        policy.spent += 1;
        policy.adapt(time);
        assert_eq!((now(&policy), &policy.counts[..]), (Some(2000), &[4][..]));
        (0..9).for_each(|_| policy.adapt(time));
        assert_eq!(now(&policy), Some(16_000));
        policy.saved = 1_000_000;
        (0..9).for_each(|_| policy.adapt(time));
        assert_eq!(now(&policy), Some(1000));
    }
}
