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
//! Counts are few, so that they are judged with those of neighbours (`counts`).
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

use super::counts::Counts;
use super::trade::{Settings, Trade, Worth};
use super::{Access, Costs, Entry, Make, Migration, Plan, Side};
use crate::replacement::PageId;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "benefit",
    summary: "pages change places where the accesses saved are worth more than the moves",
    paper: "Terrace; to buy once the rent has cost as much: Karlin et al. 1988, Competitive snoopy caching",
    when: "Programs that are not known: by its own count, moves never cost more than what they have saved and \
           `slack` of the time.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|fast, params| Ok(Some(Box::new(Benefit::new(fast, Settings::take(params)?))))),
};

/// The `benefit` policy.
struct Benefit {
    trade: Trade,
    /// Samples of each page; earlier ones count less.
    counts: Counts,
}

impl Benefit {
    fn new(fast: usize, settings: Settings) -> Self {
        Self {
            trade: Trade::new(fast, settings),
            counts: Counts::default(),
        }
    }

    fn exchange(&mut self, time: Duration, plan: &mut Plan) {
        let estimates = self.counts.estimates(&self.trade.sides);
        let lost = self.trade.of_samples(self.trade.costs().line_ps);
        let worth = Worth {
            each: self.trade.expect() * lost as f64,
            ..Worth::of(&estimates)
        };
        let kept = self.trade.exchange(&worth, time, plan);
        self.counts.scale(kept);
    }
}

impl Migration for Benefit {
    fn set_costs(&mut self, costs: Costs) {
        let scale = self.trade.set_costs(costs);
        self.counts.scale(scale);
    }

    fn came(&mut self, page: PageId) -> Side {
        let side = self.trade.came(page);
        self.counts.cover(self.trade.sides.end());
        side
    }

    fn gone(&mut self, page: PageId) {
        self.trade.gone(page);
        self.counts.cover(self.trade.sides.end());
        self.counts.forget(page);
    }

    fn every(&self) -> Option<NonZeroU32> {
        self.trade.every()
    }

    fn sampled(&mut self, access: Access, time: Duration, plan: &mut Plan) {
        let Some(side) = self.trade.sides.of(access.page) else {
            return;
        };
        self.trade
            .see(side == Side::Fast, self.trade.costs().line_ps);
        self.counts.add(access.page);
        if self.trade.is_due() {
            self.exchange(time, plan);
        }
    }

    fn stays(&mut self, page: PageId, side: Side) {
        self.trade.sides.lies(page, side);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Move, Spec};
    use super::*;

    const COSTS: Costs = Costs {
        line_ps: 10_000,
        written_line_ps: 70_000,
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
            policy.sampled(Access::read(PageId(1)), time, &mut plan);
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
        let trade = &mut policy.trade;
        let now = |trade: &Trade| trade.every().map(NonZeroU32::get);
        trade.spent = 200_000;
        assert_eq!(trade.adapt(time), 1.0);
        let paid = "a hundredth of the time is what was spent";
        assert_eq!(now(trade), Some(1000), "{paid}");
        trade.spent += 1;
        assert_eq!(trade.adapt(time), 0.5);
        assert_eq!(now(trade), Some(2000));
        (0..9).for_each(|_| _ = trade.adapt(time));
        assert_eq!(now(trade), Some(16_000));
        trade.saved = 1_000_000;
        (0..9).for_each(|_| _ = trade.adapt(time));
        assert_eq!(now(trade), Some(1000));
    }
}
