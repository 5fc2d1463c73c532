//! `benefit`: pages change places if what that is expected to save is more than what it costs.
//!
//! Accesses are counted by page, one in some. Each time when each line of each page could have been
//! accessed a share of `turns` times, pages of slow memory with many accesses are compared with
//! those of fast memory with few, and counts lose the part of their worth that makes them count
//! half after all of `turns`. A pair changes places if
//!
//! ```text
//! expect x more x time saved by an access > promotion + demotion
//! ```
//!
//! where `more` is by how many accesses they differ: as much as was seen would be expected once
//! more by one who rents skis and buys them once the rent has cost as much (Karlin et al. 1988);
//! twice as much was found to be better.
//!
//! A page has few samples by the time when it should move, and those that happen to be seen often
//! are not those that are accessed often. So a page is taken to be as its neighbours are (of
//! consecutive numbers, which come to memory together, and mostly belong to one object), but for as
//! much of what it differs from them as samples would not differ by chance: the empirical Bayes
//! estimate, as in James and Stein 1961, where counts have the variance of Poisson's distribution.
//!
//! A program may have been misjudged all the same, again and again. So moves are paid out of what
//! fast memory has saved so far, and a share of the time (`slack`): a program is never slower than
//! in slow memory alone by more than that share, however it behaves. With one access in many
//! counted, that is as exact as the samples are.
//!
//! Samples are paid as well. A share (`watch`) of what an access to slow memory loses is the most
//! that they may cost for each access: a fraction of the most that there is to gain. Where they and
//! the moves have cost more than what may be spent, every second of them is left out, and of those
//! again, until that is no longer so.
//!
//! A page has to be accessed some hundred to thousand times to pay for a move, which is what a
//! shoot-down costs by an access. Defaults were the best on nine programs that are not Oskin &
//! Loh's, with shoot-downs by interrupts and samples of 200 ns: `turns` of 8, 16, 32 and 64;
//! `expect` of 1, 2, 3, 4 and 8 (with `turns` of 16); `watch` of 0.01, 0.02 and 0.04. 16, 32 and 64
//! neighbours are within 1 % of each other there.

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
    evidence: crate::registry::Evidence::NONE,
    make: Make(|fast, params| Ok(Some(Box::new(Benefit::new(fast, Settings::take(params)?))))),
};

settings! {
    /// Settings of `benefit`.
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
        /// share of the time by which a program may be slower than in slow memory alone
        slack: f64 = 0.01, 0.0..=1.0;
    }
}

/// Lines of a page.
const LINES: f64 = 64.0;

/// How often pages are compared until counts count half.
const LOOKS: f64 = 32.0;

/// Pages that are neighbours.
const NEIGHBOURS: usize = 32;

/// How many times fewer accesses are counted where they do not pay.
const FEWEST: u32 = 16;

/// The `benefit` policy. Times are in picoseconds.
struct Benefit {
    settings: Settings,
    costs: Costs,
    sides: Sides,
    /// One access in how many is counted now.
    every: u32,
    /// Samples of each page; earlier ones count less.
    counts: Vec<f64>,
    known: u64,
    /// Accesses since pages were compared.
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

    /// Whether it is time to compare pages.
    fn is_due(&self) -> bool {
        self.accesses as f64 >= self.known as f64 * LINES * self.settings.turns / LOOKS
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
        let scale = f64::from(self.every) / f64::from(every);
        self.counts.iter_mut().for_each(|count| *count *= scale);
        self.every = every;
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

    /// Returns by what an access that was counted and the others for which it stands took longer in
    /// slow memory.
    fn lost(&self) -> u64 {
        u64::from(self.every) * self.costs.line_ps
    }

    /// Returns what each page's count would be by more samples, 0 for unknown pages.
    fn estimates(&self) -> Vec<f64> {
        let mut estimates = vec![0.0; self.counts.len()];
        let blocks = self.counts.chunks(NEIGHBOURS).enumerate();
        for (block, counts) in blocks {
            let pages = (block * NEIGHBOURS..).zip(counts);
            let known = pages.filter(|(page, _)| self.sides.of(PageId(*page as u32)).is_some());
            let known: Vec<(usize, f64)> = known.map(|(page, count)| (page, *count)).collect();
            let counts: Vec<f64> = known.iter().map(|(_, count)| *count).collect();
            for ((page, _), estimate) in known.iter().zip(shrunk(&counts)) {
                estimates[*page] = estimate;
            }
        }
        estimates
    }

    /// Lets pages change places, the best pairs first, as long as they pay and can be paid.
    fn exchange(&mut self, time: Duration, plan: &mut Plan) {
        let allowed = self.allowed(time);
        let batch = picos(self.costs.batch);
        let estimates = self.estimates();
        let of = |page: &PageId| estimates[page.index()];
        let worth = self.settings.expect * self.lost() as f64;
        let mut coming = self.sides.pages(Side::Slow);
        coming.sort_by(|one, other| of(other).total_cmp(&of(one)));
        let mut going = self.sides.pages(Side::Fast);
        going.sort_by(|one, other| of(one).total_cmp(&of(other)));
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
            let more = of(&page) - victim.as_ref().map_or(0.0, of);
            if more * worth <= cost as f64 || self.spent + cost > allowed {
                break;
            }
            self.spent += cost;
            if let Some(victim) = victim {
                self.sides.go(victim, Side::Slow, plan);
            }
            self.sides.go(page, Side::Fast, plan);
        }
        let kept = (-1.0 / LOOKS).exp2();
        self.counts.iter_mut().for_each(|count| *count *= kept);
        self.accesses = 0;
        self.adapt(time);
    }
}

/// Returns what is expected of counts of samples: their mean, and of what each differs from it the
/// share of the variance that is more than that of samples, which is the mean.
fn shrunk(counts: &[f64]) -> Vec<f64> {
    let number = counts.len() as f64;
    if number < 2.0 {
        return counts.to_vec();
    }
    let mean = counts.iter().sum::<f64>() / number;
    let squares = counts.iter().map(|count| (count - mean).powi(2));
    let variance = squares.sum::<f64>() / (number - 1.0);
    let share = match variance > mean {
        true => (variance - mean) / variance,
        false => 0.0,
    };
    let shrink = |count: &f64| mean + (count - mean) * share;
    counts.iter().map(shrink).collect()
}

impl Migration for Benefit {
    fn set_costs(&mut self, costs: Costs) {
        self.costs = costs;
        self.set_every(self.least_every());
    }

    fn came(&mut self, page: PageId) -> Side {
        self.known += u64::from(self.sides.of(page).is_none());
        let side = self.sides.came(page);
        self.counts.resize(self.sides.end(), 0.0);
        side
    }

    fn gone(&mut self, page: PageId) {
        self.known -= u64::from(self.sides.of(page).is_some());
        self.sides.gone(page);
        self.counts.resize(self.sides.end(), 0.0);
        self.counts[page.index()] = 0.0;
    }

    fn every(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.every)
    }

    fn sampled(&mut self, page: PageId, time: Duration, plan: &mut Plan) {
        let Some(side) = self.sides.of(page) else {
            return;
        };
        if side == Side::Fast {
            self.saved += u128::from(self.lost());
        }
        self.counts[page.index()] += 1.0;
        self.accesses += u64::from(self.every);
        self.spent += picos(self.costs.sample);
        if self.is_due() {
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
        // Pages are compared after 2 x 64 x 16/32 accesses, whose loss is 640 ns. Of counts of 0
        // and 64 the variance is 2048 and the mean 32, so that they are taken to be 0.5 and 63.5.
        let text = "benefit:every=1,turns=16,expect=1";
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
        let doubtful = "benefit:every=1,turns=16,expect=0.634";
        assert_eq!(moves(doubtful, 64, long), [], "0.634 x 63 x 10 ns < 400 ns");
        let worthwhile = "benefit:every=1,turns=16,expect=0.635";
        assert_eq!(moves(worthwhile, 64, long), both);
    }

    #[test]
    fn few_samples_say_more_of_neighbours_than_of_a_page() {
        // Both have a mean of 3. The variance of the first is 3, as that of samples, and of the
        // others 9.
        assert_eq!(shrunk(&[2.0, 5.0, 2.0]), [3.0; 3]);
        assert_eq!(shrunk(&[0.0, 6.0, 3.0]), [1.0, 5.0, 3.0]);
        assert_eq!(shrunk(&[7.0]), [7.0]);
        assert_eq!(shrunk(&[]), []);
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
        policy.counts = vec![9.0];
        policy.spent = 200_000;
        policy.adapt(time);
        assert_eq!(
            now(&policy),
            Some(1000),
            "a hundredth of the time is what was spent"
        );
        policy.spent += 1;
        policy.adapt(time);
        assert_eq!((now(&policy), &policy.counts[..]), (Some(2000), &[4.5][..]));
        (0..9).for_each(|_| policy.adapt(time));
        assert_eq!(now(&policy), Some(16_000));
        policy.saved = 1_000_000;
        (0..9).for_each(|_| policy.adapt(time));
        assert_eq!(now(&policy), Some(1000));
    }
}
