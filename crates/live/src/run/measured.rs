//! A program whose footprint is measured while it runs, as that of a server, which does not end by
//! itself: it starts without a limit, and gets its budget after a while, in steps that the machine
//! can bear.

use std::time::{Duration, Instant};

use terrace_base::{Bytes, Result};

use super::life::Held;
use super::pressure::Pressure;
use super::steering::leave_lesson;
use super::{Event, Observer, Outcome, Session, Status, Way};
use crate::group::accounts::Accounts;
use crate::group::budget::{Budget, Limits};
use crate::group::counters::SwapCounters;
use crate::group::footprint::Footprint;
use crate::group::swapped::SwapCounter;
use crate::machine::pool::Pool;
use crate::machine::sysctl::Hand;
use crate::machine::zswap::{self, Charge};
use crate::program::Invocation;
use crate::run::running::{Counts, Running};
use crate::steer::steered::Steered;
use crate::tier::Tier;

/// Pause between two looks at the memory of the program.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Prepares the tier for a footprint, and returns the budget.
pub type Settle<'a> = &'a mut dyn FnMut(&mut Session, Bytes, Observer) -> Result<Bytes>;

/// What a program has from the moment on at which it gets its budget; without one, nothing.
#[derive(Default)]
struct Settled {
    limit: Option<Bytes>,
    start: Counts,
    steered: Option<Steered>,
    charge: Option<Charge>,
    accounts: Option<Accounts>,
    held: Held,
    hand: Option<Hand>,
}

impl Session {
    /// Runs a program one way, without a limit for this `time`; then has `settle` prepare the tier
    /// for its footprint so far, gives it the budget that this returns, and waits until it and all
    /// processes that it started have ended.
    ///
    /// # Errors
    /// A usage error if the program cannot be run; otherwise a failure. If it cannot get its
    /// budget, it runs on without one, and is waited for.
    pub fn run_measured(
        &mut self,
        invocation: &Invocation,
        way: &Way,
        time: Duration,
        settle: Settle,
        observer: Observer,
    ) -> Result<Outcome> {
        let budget = self.make_budget(None)?;
        let covers = self.covers(invocation, &budget, observer)?;
        let waits = self.measure_waits(&budget)?;
        let pool = zswap::pool();
        let before = Counts::at_start(None);
        let program = self.start(invocation, &budget, covers)?;
        observer(Event::Notice(&format!(
            "the program runs without a limit for {} s, which measures its footprint",
            time.as_secs_f64()
        )));
        let settled = match await_peak(&budget, time, observer) {
            Some(footprint) => self.settle(way, &budget, footprint, pool, settle, observer),
            None => {
                observer(Event::Notice(
                    "the program ended before that, and had no limit",
                ));
                Ok(Settled::default())
            }
        };
        let (settled, failure) = match settled {
            Ok(settled) => (settled, None),
            Err(error) => {
                budget.unlimit();
                let said = format!("{error}; the program runs on without a limit");
                observer(Event::Warning(&said));
                (Settled::default(), Some(error))
            }
        };
        let counter = SwapCounter::of(&budget);
        if let Some(steered) = &settled.steered {
            steered.started_before(program.started().elapsed());
        }
        let running = Running {
            budget: &budget,
            limit: settled.limit,
            tier: self.far.swap(),
            swapped: counter,
            accounts: settled.accounts,
            readahead: settled.hand.as_ref(),
            zswap: self.zswap.as_ref(),
            balancing: None,
            charge: settled.charge,
            steered: settled.steered,
            waits,
            start: settled.limit.map_or(before, |_| settled.start),
            pool,
            after: self.measures.after,
            every: self.measures.every,
        };
        let mut outcome = self.follow(program, running, settled.held, observer)?;
        leave_lesson(way, &mut outcome, observer)?;
        failure.map_or(Ok(outcome), Err)
    }

    /// Gives a program that runs its budget, and all that belongs to it.
    fn settle(
        &mut self,
        way: &Way,
        budget: &Budget,
        footprint: Bytes,
        pool: Pool,
        settle: Settle,
        observer: Observer,
    ) -> Result<Settled> {
        let limit = settle(self, footprint, observer)?;
        observer(Event::Notice(&format!(
            "its footprint is {footprint} so far; it gets {limit} of DRAM now, and the rest goes to the tier"
        )));
        let start = Counts::at_start(self.far.swap());
        let accounts = Accounts::keep(&budget.statistics(), limit)?;
        let charge = self.charge(budget, Some(limit), pool)?;
        let limits = Limits {
            dram: limit,
            tier: self.far.swap().and_then(Tier::size),
        };
        if let Some(tier) = self.far.swap() {
            tier.follow(Some(SwapCounter::of(budget)));
        }
        let (began, mut pressure) = (Instant::now(), Pressure::default());
        budget.lower(limits, || pressure.apply(&budget.processes()))?;
        observer(Event::Notice(&format!(
            "it has its budget, after {:.1} s",
            began.elapsed().as_secs_f64()
        )));
        let writes = self.watch_writes(budget)?;
        let (steered, knob, hand) = self.steer(way, budget, Some(limit), observer)?;
        Ok(Settled {
            limit: Some(limit),
            start,
            steered,
            charge,
            accounts: Some(accounts),
            held: Held { knob, writes },
            hand,
        })
    }
}

/// Returns the footprint of a program after this time; `None` if it ended before.
fn await_peak(budget: &Budget, time: Duration, observer: Observer) -> Option<Bytes> {
    let began = Instant::now();
    let mut footprint = Footprint::default();
    while began.elapsed() < time {
        if budget.processes().is_empty() {
            return None;
        }
        let usage = budget.usage();
        footprint.look(usage.charges);
        observer(Event::Running(&Status {
            elapsed: began.elapsed(),
            usage,
            limit: None,
            progress: None,
            tier: SwapCounters::default(),
            others: Bytes(0),
        }));
        std::thread::sleep(LOOK_EVERY.min(time.saturating_sub(began.elapsed())));
    }
    Some(footprint.finish(budget.usage().charges).bytes)
}
