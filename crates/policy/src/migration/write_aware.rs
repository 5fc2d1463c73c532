//! `write-aware`: as [`mod@super::benefit`], where a page that is written and one that is read are
//! hot in two ways.
//!
//! Slow memory whose writes take longer than its reads (phase-change memory: 150 ns a line against
//! 28, Fedorov 2016, table 2.2) loses more by a page that is written, and each line that is written
//! wears it out. So loads and stores are counted apart, and each kind is judged with the neighbours
//! of a page. What a page is worth in fast memory is
//!
//! ```text
//! reads x what a read takes longer + writes x what a write takes longer x (1 + wear)
//! ```
//!
//! where both times are those of the device, and `wear` says how much the life of the memory counts
//! beside time: a line written less is worth that many times the time that it saves. With 0, time
//! alone counts. A page that leaves fast memory, and came there first or has been written there as
//! far as samples show, wears as many lines as it has, which what comes in its place has to save as
//! well. The account of what may be spent is one of time alone: no program is slower for the sake
//! of wear than `slack` allows.
//!
//! It sees what caches write back, where the driver does ([`Migration::sees_write_backs`]): behind
//! caches that is what writes slow memory.

use std::num::NonZeroU32;
use std::time::Duration;

use super::counts::Counts;
use super::trade::{self, LINES, Trade, Worth};
use super::{Access, Costs, Entry, Make, Migration, Plan, Side};
use crate::replacement::PageId;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "write-aware",
    summary: "as benefit, by reads and writes apart: pages that are written cost more time, and wear the memory",
    paper: "Terrace",
    when: "Slow memory whose writes take longer than its reads, or whose cells wear out.",
    evidence: crate::registry::Evidence {
        open: "It is ours and not tuned: its settings are those that were fitted for benefit, wear is 1 because time \
               and life then count alike, and all else is the device's.",
        compared: "benefit, on generated programs alone: pages that are read and pages that are written, with DRAM \
                   for half of them (crates/sim/tests/pages/bypass.rs)",
    },
    make: Make(&|fast, params| {
        let traded = trade::Settings::take(params)?;
        let settings = Settings::take(params)?;
        Ok(Some(Box::new(WriteAware::new(fast, traded, settings))))
    }),
};

settings! {
    /// Settings of `write-aware`, beside those of `benefit`.
    pub struct Settings {
        /// what a line written less is worth for the life of slow memory, as a multiple of the time
        /// that it saves
        wear: f64 = 1.0, 0.0..=1000.0;
    }
}

/// The `write-aware` policy.
struct WriteAware {
    trade: Trade,
    wear: f64,
    /// Samples of each page that read, and that wrote; earlier ones count less.
    reads: Counts,
    writes: Counts,
    /// Whether slow memory has no copy of a page of fast memory that is up to date.
    changed: Vec<bool>,
}

impl WriteAware {
    fn new(fast: usize, trade: trade::Settings, settings: Settings) -> Self {
        Self {
            trade: Trade::new(fast, trade),
            wear: settings.wear,
            reads: Counts::default(),
            writes: Counts::default(),
            changed: Vec::new(),
        }
    }

    fn scale(&mut self, factor: f64) {
        self.reads.scale(factor);
        self.writes.scale(factor);
    }

    fn cover(&mut self) {
        let end = self.trade.sides.end();
        self.reads.cover(end);
        self.writes.cover(end);
        self.changed.resize(end, false);
    }

    fn exchange(&mut self, time: Duration, plan: &mut Plan) {
        let costs = self.trade.costs();
        let (read, written) = (costs.line_ps as f64, costs.written_line_ps as f64);
        let reads = self.reads.estimates(&self.trade.sides);
        let writes = self.writes.estimates(&self.trade.sides);
        let both = reads.iter().zip(&writes);
        let lost = both.map(|(reads, writes)| reads * read + writes * written * (1.0 + self.wear));
        let worn = LINES * written * self.wear;
        let changed = &self.changed;
        let lost = lost.collect::<Vec<_>>();
        let worth = Worth {
            each: self.trade.expect() * self.trade.of_samples(1) as f64,
            leaving: &|page| if changed[page.index()] { worn } else { 0.0 },
            ..Worth::of(&lost)
        };
        let kept = self.trade.exchange(&worth, time, plan);
        self.scale(kept);
        for one in &plan.moves {
            self.changed[one.page.index()] = false;
        }
    }
}

impl Migration for WriteAware {
    fn set_costs(&mut self, costs: Costs) {
        let factor = self.trade.set_costs(costs);
        self.scale(factor);
    }

    fn came(&mut self, page: PageId) -> Side {
        let is_new = self.trade.sides.of(page).is_none();
        let side = self.trade.came(page);
        self.cover();
        if is_new {
            self.changed[page.index()] = side == Side::Fast;
        }
        side
    }

    fn gone(&mut self, page: PageId) {
        self.trade.gone(page);
        self.cover();
        self.reads.forget(page);
        self.writes.forget(page);
    }

    fn every(&self) -> Option<NonZeroU32> {
        self.trade.every()
    }

    fn sees_write_backs(&self) -> bool {
        true
    }

    fn sampled(&mut self, access: Access, time: Duration, plan: &mut Plan) {
        let Some(side) = self.trade.sides.of(access.page) else {
            return;
        };
        let costs = self.trade.costs();
        let (slower, counts) = match access.wrote {
            true => (costs.written_line_ps, &mut self.writes),
            false => (costs.line_ps, &mut self.reads),
        };
        counts.add(access.page);
        self.changed[access.page.index()] |= side == Side::Fast && access.wrote;
        self.trade.see(side == Side::Fast, slower);
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

    /// Returns whether the page that is written takes the place of the one that is read, after as
    /// many accesses to each, where moves cost this many nanoseconds and a write takes so much
    /// longer than 10 ns.
    fn changes(text: &str, demotion: u64, written: u64) -> bool {
        let spec = Spec::parse(text).unwrap();
        let mut policy = spec.policy(1).unwrap().unwrap();
        policy.set_costs(Costs {
            line_ps: 10_000,
            written_line_ps: written,
            demotion: Duration::from_nanos(demotion),
            ..Costs::default()
        });
        let mut plan = Plan::default();
        let [read, write] = [0, 1].map(PageId);
        policy.came(read);
        policy.came(write);
        let long = Duration::from_secs(1);
        // Pages are compared after 2 x 64 x 16/32 accesses.
        for _ in 0..32 {
            policy.sampled(Access::read(read), long, &mut plan);
            policy.sampled(Access::write(write), long, &mut plan);
        }
        let go = |page, to| Move { page, to };
        match &plan.moves[..] {
            [] => false,
            moves => moves == [go(read, Side::Slow), go(write, Side::Fast)],
        }
    }

    /// Of 32 and 0 the variance is 512 and the mean 16, so that they are taken to be 31.5 and 0.5:
    /// reads of the one and writes of the other. The page that is written is worth 31 x 50 ns more
    /// by its writes and 31 x 10 ns less by its reads. With a wear of 1 its writes count twice, and
    /// the other, which was never in slow memory, wears 64 lines of 50 ns if it leaves.
    #[test]
    fn what_is_written_is_worth_what_writes_cost_and_wear() {
        let text = |wear| format!("write-aware:every=1,turns=16,expect=1,wear={wear}");
        assert!(changes(&text(0), 1239, 50_000));
        assert!(!changes(&text(0), 1240, 50_000), "31 x 40 ns");
        assert!(!changes(&text(1), 0, 50_000), "31 x 90 ns < 64 x 50 ns");
        let more = |wear| text(wear).replace("expect=1", "expect=2");
        assert!(changes(&more(1), 2379, 50_000), "2 x 31 x 90 - 64 x 50");
        assert!(!changes(&more(1), 2380, 50_000));
        assert!(!changes(&text(0), 0, 10_000), "no reason to move");
    }
}
