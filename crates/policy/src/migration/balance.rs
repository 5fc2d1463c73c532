//! `balance`: pages move until accesses to both memories take the same time, waiting included.
//!
//! DRAM is faster than the memory behind it as long as neither is busy. A program that asks for
//! more than DRAM gives waits for it, so that the pages accessed most would be served sooner by the
//! other memory. So it is not the most accesses that should go to DRAM, but the share of them at
//! which both take the same time: if DRAM takes less, it should have more of them, and if it takes
//! longer, less (Colloid). The share is found by bisection. Each look makes the share of the time
//! before a bound, the least where DRAM took less and the most where it took longer, and pages
//! move that make up for the way to the middle between both bounds. Bounds that have met open
//! towards where the difference points, as the program has changed. Nothing moves if the times
//! differ by less than `tolerance`, a share of DRAM's.
//!
//! All else is `benefit`'s ([`mod@super::benefit`]): when it looks, what it expects of a page, and
//! that moves are paid out of what was saved, by its own count: each access to the memory that
//! takes less saves what both differ by. Samples may cost a share (`watch`) of what an access to
//! idle slow memory takes, as memories that are alike when idle differ when they are busy. Where no
//! driver tells what accesses take, it is `benefit`. Pages that leave DRAM because it is busy take
//! no other's place there.

use std::num::NonZeroU32;
use std::time::Duration;

use super::counts::Counts;
use super::trade::{self, Trade, Worth};
use super::{Access, Costs, Entry, Load, Loads, Make, Migration, Plan, Side};
use crate::replacement::PageId;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "balance",
    summary: "as benefit; where DRAM is so busy that slow memory is faster, pages leave it until both take the same time",
    paper: "Vuppalapati & Agarwal, Tiered Memory Management: Access Latency is the Key!, SOSP 2024 (Colloid)",
    when: "Programs that ask for more than DRAM gives at some times.",
    evidence: crate::registry::Evidence {
        open: "Colloid decides how much of the accesses should move, and leaves which pages, and whether a move pays, to \
               the system below it; here that is benefit. It smooths what it measures over short times; here a look is \
               at all accesses since the look before.",
        compared: "benefit, on generated programs that ask for more than DRAM gives, and for less \
                   (crates/sim/tests/pages/bandwidth.rs)",
    },
    make: Make(&|fast, params| {
        let traded = trade::Settings::take(params)?;
        let settings = Settings::take(params)?;
        Ok(Some(Box::new(Balance::new(fast, traded, settings))))
    }),
};

settings! {
    /// Settings of `balance`, beside those of `benefit`.
    pub struct Settings {
        /// by how much the times of accesses to both memories may differ, as a share of DRAM's time
        tolerance: f64 = 0.05, 0.0..=1.0;
    }
}

/// Bounds of the share that are nearer to each other have met.
const MET: f64 = 0.01;

/// The `balance` policy.
struct Balance {
    trade: Trade,
    tolerance: f64,
    /// Samples of each page; earlier ones count less.
    counts: Counts,
    /// What accesses took so far, if that is told, and at the last look.
    loads: Option<Loads>,
    before: Loads,
    /// By how many picoseconds slow memory took longer before the last look; less than 0 if DRAM
    /// did.
    slower: i64,
    /// Bounds of the share of accesses that DRAM should serve.
    least: f64,
    most: f64,
}

impl Balance {
    fn new(fast: usize, trade: trade::Settings, settings: Settings) -> Self {
        Self {
            trade: Trade::new(fast, trade),
            tolerance: settings.tolerance,
            counts: Counts::default(),
            loads: None,
            before: Loads::default(),
            slower: 0,
            least: 0.0,
            most: 1.0,
        }
    }

    fn exchange(&mut self, time: Duration, plan: &mut Plan) {
        let shift = self.loads.map(|loads| self.look(loads));
        let estimates = self.counts.estimates(&self.trade.sides);
        let lost = self.trade.of_samples(self.slower.unsigned_abs());
        let worth = Worth {
            each: self.trade.expect() * lost as f64,
            most: shift.map_or(f64::INFINITY, |shift| shift * estimates.iter().sum::<f64>()),
            ..Worth::of(&estimates)
        };
        let kept = match self.slower < 0 {
            false => self.trade.exchange(&worth, time, plan),
            true => self.trade.retreat(&worth, time, plan),
        };
        self.counts.scale(kept);
    }

    /// Compares what accesses have taken since the last look; returns the share of all that should
    /// be served by the memory that takes less.
    fn look(&mut self, loads: Loads) -> f64 {
        let since = loads - self.before;
        self.before = loads;
        let took = |load: Load| i64::try_from(load.latency_ps()).unwrap_or(i64::MAX);
        let (fast, slow) = (took(since.fast), took(since.slow));
        self.slower = slow - fast;
        let all = since.fast.accesses + since.slow.accesses;
        let is_even = (self.slower.abs() as f64) <= self.tolerance * fast as f64;
        if is_even || all == 0 {
            return 0.0;
        }
        let share = since.fast.accesses as f64 / all as f64;
        if self.slower > 0 {
            self.least = share;
            if self.most - share < MET {
                self.most = 1.0;
            }
        } else {
            self.most = share;
            if share - self.least < MET {
                self.least = 0.0;
            }
        }
        (f64::midpoint(self.least, self.most) - share).abs()
    }
}

impl Migration for Balance {
    fn set_costs(&mut self, costs: Costs) {
        self.slower = costs.line_ps as i64;
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

    fn weighs_loads(&self) -> bool {
        true
    }

    fn loaded(&mut self, loads: Loads) {
        self.loads = Some(loads);
        let stake = loads.slow.idle_ps;
        if self.trade.stake() != stake {
            let scale = self.trade.set_stake(stake);
            self.counts.scale(scale);
        }
    }

    fn sampled(&mut self, access: Access, time: Duration, plan: &mut Plan) {
        let Some(side) = self.trade.sides.of(access.page) else {
            return;
        };
        let quicker = if self.slower < 0 {
            Side::Slow
        } else {
            Side::Fast
        };
        self.trade.see(side == quicker, self.slower.unsigned_abs());
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

    /// Returns loads since the driver began: accesses to DRAM and to slow memory, and what each
    /// took.
    fn loads(fast: (u64, u64), slow: (u64, u64)) -> Loads {
        let load = |(accesses, each): (u64, u64)| Load {
            accesses,
            took_ps: accesses * each,
            idle_ps: 10_000,
        };
        Loads {
            fast: load(fast),
            slow: load(slow),
        }
    }

    fn balance() -> Balance {
        let mut params = crate::params::Params::default();
        let trade = trade::Settings::take(&mut params).unwrap();
        Balance::new(4, trade, Settings::take(&mut params).unwrap())
    }

    /// A share of 0.8 is too much, 0.4 too little; so it is sought between them.
    #[test]
    fn the_share_is_found_by_bisection() {
        let mut policy = balance();
        let mut all = Loads::default();
        let mut look = |policy: &mut Balance, fast, slow| {
            let now = loads(fast, slow);
            all.fast.accesses += now.fast.accesses;
            all.fast.took_ps += now.fast.took_ps;
            all.slow.accesses += now.slow.accesses;
            all.slow.took_ps += now.slow.took_ps;
            (policy.look(all) * 1000.0).round() / 1000.0
        };
        let busy = |share: u64| ((10 * share, 60_000), (10 * (100 - share), 50_000));
        let idle = |share: u64| ((10 * share, 40_000), (10 * (100 - share), 50_000));
        let (fast, slow) = busy(80);
        assert_eq!(look(&mut policy, fast, slow), 0.4, "to 0.4");
        assert_eq!(policy.slower, -10_000);
        let (fast, slow) = idle(40);
        assert_eq!(look(&mut policy, fast, slow), 0.2, "to 0.6");
        assert_eq!(policy.slower, 10_000);
        assert_eq!(
            look(&mut policy, (600, 50_000), (400, 52_000)),
            0.0,
            "they are even"
        );
        let (fast, slow) = idle(80);
        assert_eq!(
            look(&mut policy, fast, slow),
            0.1,
            "the bounds have met: to 0.9"
        );
        assert_eq!(
            look(&mut policy, (0, 0), (0, 0)),
            0.0,
            "nothing was accessed"
        );
    }

    /// Pages are compared after 4 x 64 accesses of which DRAM, which is busy, serves all. Half of
    /// them should go: a page of half of the accesses, as that with more than half is too many.
    #[test]
    fn pages_leave_a_busy_dram() {
        let spec = Spec::parse("balance:every=1,turns=32,slack=1").unwrap();
        let mut policy = spec.policy(4).unwrap().unwrap();
        policy.set_costs(Costs {
            demotion: Duration::from_nanos(100),
            ..Costs::default()
        });
        let mut plan = Plan::default();
        let pages = [0, 100, 200, 300].map(PageId);
        for page in pages {
            assert_eq!(policy.came(page), Side::Fast);
        }
        policy.loaded(loads((256, 90_000), (0, 0)));
        for at in 0..256 {
            let page = match at % 16 {
                0..=8 => pages[2],
                9..=13 => pages[1],
                _ => pages[0],
            };
            policy.sampled(Access::read(page), Duration::from_micros(1), &mut plan);
        }
        let go = |page| Move {
            page,
            to: Side::Slow,
        };
        // 9/16 are too many; 5/16 and 2/16 are less than 1/2 together.
        assert_eq!(plan.moves, [go(pages[1]), go(pages[0])]);
    }
}
