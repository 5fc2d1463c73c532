//! A control policy on a simulated machine: when it looks, what it is shown, and how that went.
//!
//! The share of stalls is the time that threads lost for memory, divided by the time in which they
//! ran or lost it; threads that sleep count in neither. What a policy is told is that share of the
//! time since its look before: the waits at faults divided by the threads that ran.

use std::mem;
use std::ops::{Add, Sub};
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_policy::control::budget::Budget;
use terrace_policy::control::{Controller, Decision, Moved, Reason, Seen, Step};
use terrace_policy::replacement::PageId;

use super::settings::PageMachine;

/// Time over which the worst share of stalls is told.
const SECOND: Nanos = Nanos(1_000_000_000);
/// Time for which a budget of writes is saved.
const DAY: Duration = Duration::from_secs(86_400);
/// Looks that are kept one by one at most; beyond them two become one.
const MOST: usize = 512;

/// Time of all threads: lost for memory, and that together with what they ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Waits {
    pub(super) lost: Nanos,
    pub(super) ran: Nanos,
}

impl Waits {
    /// Returns the share of stalls; `None` if no thread ran.
    fn share(self) -> Option<f64> {
        (self.ran > Nanos::ZERO).then(|| self.lost.0 as f64 / self.ran.0 as f64)
    }

    /// Returns that share of a time.
    fn of(self, time: Nanos) -> Duration {
        let part = u128::from(time.0) * u128::from(self.lost.0);
        let stalled = part.checked_div(u128::from(self.ran.0)).unwrap_or(0);
        Duration::from_nanos((stalled as u64).min(time.0))
    }
}

impl Add for Waits {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            lost: self.lost + other.lost,
            ran: self.ran + other.ran,
        }
    }
}

impl Sub for Waits {
    type Output = Self;
    /// A thread that is handled at an earlier moment than others takes nothing away.
    fn sub(self, other: Self) -> Self {
        Self {
            lost: self.lost.saturating_sub(other.lost),
            ran: self.ran.saturating_sub(other.ran),
        }
    }
}

/// State of a machine at a moment, from the start of the simulation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) time: Nanos,
    /// Pages in DRAM.
    pub(super) resident: u64,
    pub(super) waits: Waits,
    /// Pages written to the tier.
    pub(super) written: u64,
}

/// A look, or several in a row of which the last one tells the time, DRAM and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Number of looks.
    pub looks: u64,
    /// Virtual time from the start.
    pub time_ns: Nanos,
    /// DRAM held, before the decision.
    pub dram: Bytes,
    waits: Waits,
    /// Written to the tier since the look before.
    pub written: Bytes,
    /// Reclaimed.
    pub reclaimed: Bytes,
    /// Given back.
    pub given_back: Bytes,
    /// Why the policy decided so.
    pub reason: String,
}

impl Look {
    /// Returns the share of stalls since the look before; `None` if no thread ran.
    pub fn stalls(&self) -> Option<f64> {
        self.waits.share()
    }

    /// Adds the next one.
    fn extend(self, next: Self) -> Self {
        Self {
            looks: self.looks + next.looks,
            waits: self.waits + next.waits,
            written: Bytes(self.written.0 + next.written.0),
            reclaimed: Bytes(self.reclaimed.0 + next.reclaimed.0),
            given_back: Bytes(self.given_back.0 + next.given_back.0),
            ..next
        }
    }
}

/// Looks in their order, several together where they are many.
#[derive(Clone, Debug)]
struct Looks {
    /// Looks that are together.
    together: u64,
    points: Vec<Look>,
}

impl Looks {
    fn new() -> Self {
        Self {
            together: 1,
            points: Vec::new(),
        }
    }

    fn push(&mut self, look: Look) {
        match self.points.pop_if(|last| last.looks < self.together) {
            Some(last) => self.points.push(last.extend(look)),
            None => self.points.push(look),
        }
        let is_full = self.points.len() == MOST;
        if is_full
            && self
                .points
                .last()
                .is_some_and(|last| last.looks == self.together)
        {
            self.together *= 2;
            let mut points = mem::take(&mut self.points).into_iter();
            while let Some(one) = points.next() {
                self.points.push(match points.next() {
                    Some(other) => one.extend(other),
                    None => one,
                });
            }
        }
    }
}

/// How a control policy went, behind the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Controlled {
    /// DRAM held on average over time; what comes in between two looks is taken to come evenly.
    pub dram_mean: Bytes,
    /// Least DRAM held after a look; at the end if there was none.
    pub dram_least: Bytes,
    /// Share of stalls.
    pub stalls: f64,
    /// Share of stalls of the worst second; `None` if there was no whole second.
    pub stalls_worst: Option<f64>,
    /// Looks.
    pub looks: u64,
    /// Looks at which something was reclaimed, and how much in all.
    pub reclaims: u64,
    /// See `reclaims`.
    pub reclaimed: Bytes,
    /// Looks at which something was given back, and how much in all.
    pub returns: u64,
    /// See `returns`.
    pub given_back: Bytes,
    /// Looks at which something would have been reclaimed, and the budget of writes was spent.
    pub unpaid: u64,
}

/// What is added up behind the warm-up.
#[derive(Clone, Debug)]
struct Account {
    begin: Held,
    last: Held,
    /// Pages by nanoseconds, twice.
    dram: u128,
    least: Option<u64>,
    worst: Option<f64>,
    /// Begin of the second under way.
    second: Held,
    total: Look,
    reclaims: u64,
    returns: u64,
    unpaid: u64,
    looks: Looks,
}

impl Account {
    fn new(begin: Held) -> Self {
        Self {
            begin,
            last: begin,
            dram: 0,
            least: None,
            worst: None,
            second: begin,
            total: Look::default(),
            reclaims: 0,
            returns: 0,
            unpaid: 0,
            looks: Looks::new(),
        }
    }

    /// Adds the DRAM held until a moment, behind which `resident` pages are held.
    fn hold(&mut self, now: Held, resident: u64) {
        self.dram = self.dram_until(now);
        self.last = Held { resident, ..now };
    }

    fn dram_until(&self, now: Held) -> u128 {
        let passed = now.time.saturating_sub(self.last.time);
        self.dram + u128::from(self.last.resident + now.resident) * u128::from(passed.0)
    }

    /// Ends a second.
    fn end_second(&mut self, now: Held) {
        self.hold(now, now.resident);
        let is_whole = now.time.saturating_sub(self.second.time) == SECOND;
        let share = (now.waits - self.second.waits).share().filter(|_| is_whole);
        if let Some(share) = share {
            self.worst = Some(self.worst.map_or(share, |worst| worst.max(share)));
        }
        self.second = now;
    }

    fn look(&mut self, now: Held, resident: u64, look: Look, step: Step) {
        self.hold(now, resident);
        self.least = Some(self.least.map_or(resident, |least| least.min(resident)));
        self.reclaims += u64::from(matches!(step, Step::Reclaim(_)));
        self.returns += u64::from(matches!(step, Step::GiveBack(_)));
        self.unpaid += u64::from(look.reason == Reason::Writes.name());
        self.total = mem::take(&mut self.total).extend(look.clone());
        self.looks.push(look);
    }

    fn outcome(&self, end: Held) -> Controlled {
        let passed = u128::from(end.time.saturating_sub(self.begin.time).0);
        let mean = self.dram_until(end).checked_div(2 * passed);
        Controlled {
            dram_mean: Bytes::of_pages(mean.map_or(end.resident, |mean| mean as u64)),
            dram_least: Bytes::of_pages(self.least.unwrap_or(end.resident)),
            stalls: (end.waits - self.begin.waits).share().unwrap_or(0.0),
            stalls_worst: self.worst,
            looks: self.total.looks,
            reclaims: self.reclaims,
            reclaimed: self.total.reclaimed,
            returns: self.returns,
            given_back: self.total.given_back,
            unpaid: self.unpaid,
        }
    }
}

/// Pages that left by control and did not come back, in the order in which they left.
#[derive(Default)]
struct Left {
    /// Each with the number of its leaving; those that have come back since are still among them.
    order: Vec<(PageId, u64)>,
    /// Number of the last leaving of each page that is out.
    out: FxHashMap<PageId, u64>,
    number: u64,
}

impl Left {
    fn push(&mut self, page: PageId) {
        self.number += 1;
        self.out.insert(page, self.number);
        self.order.push((page, self.number));
        if self.order.len() > 2 * self.out.len() + MOST {
            let out = &self.out;
            self.order
                .retain(|(page, number)| out.get(page) == Some(number));
        }
    }

    /// Notes that a page comes back, or is no more.
    fn forget(&mut self, page: PageId) {
        self.out.remove(&page);
    }

    /// Takes the page that left last.
    fn pop(&mut self) -> Option<PageId> {
        while let Some((page, number)) = self.order.pop() {
            if self.out.get(&page) == Some(&number) {
                self.out.remove(&page);
                return Some(page);
            }
        }
        None
    }
}

/// A control policy of a machine.
pub(super) struct Control {
    controller: Controller,
    budget: Option<Budget>,
    every: Nanos,
    /// The next look, and the end of the second.
    look: Nanos,
    second: Nanos,
    /// Pages that the program has and that were touched.
    touched: u64,
    left: Left,
    before: Held,
    account: Account,
}

impl Control {
    /// Makes the policy of a machine; `None` if it has none.
    ///
    /// # Errors
    /// A usage error if one of its settings has a wrong value.
    pub(super) fn new(settings: &PageMachine) -> Result<Option<Self>> {
        let Some(spec) = &settings.control else {
            return Ok(None);
        };
        let controller = spec.controller().map_err(Error::usage)?;
        let every = Nanos(controller.every().as_nanos() as u64);
        let budget = settings.control_writes;
        Ok(Some(Self {
            controller,
            budget: budget.map(|a_day| Budget::new(a_day, DAY, 1)),
            every,
            look: every,
            second: SECOND,
            touched: 0,
            left: Left::default(),
            before: Held::default(),
            account: Account::new(Held::default()),
        }))
    }

    /// Returns the next moment at which something is to be done.
    pub(super) fn next(&self) -> Nanos {
        self.look.min(self.second)
    }

    /// Notes that a page comes into DRAM, `new` or from behind it.
    pub(super) fn came(&mut self, page: PageId, new: bool) {
        self.touched += u64::from(new);
        self.left.forget(page);
    }

    /// Notes that the program gives back a page.
    pub(super) fn gone(&mut self, page: PageId) {
        self.touched -= 1;
        self.left.forget(page);
    }

    /// Notes that a page leaves by control.
    pub(super) fn left(&mut self, page: PageId) {
        self.left.push(page);
    }

    /// Takes the page that left last by control and is out.
    pub(super) fn last_left(&mut self) -> Option<PageId> {
        self.left.pop()
    }

    /// Handles the next moment, as which the machine is `now`; returns the decision if it is a
    /// look. [`Control::looked`] follows it.
    pub(super) fn pass(&mut self, now: Held) -> Option<Decision> {
        if now.time == self.second {
            self.account.end_second(now);
            self.second = plus(self.second, SECOND);
        }
        if now.time != self.look {
            return None;
        }
        self.look = plus(self.look, self.every);
        let (time, bytes) = (now.time, |pages| Bytes::of_pages(pages).0);
        let written = bytes(now.written - self.before.written);
        let passed = time.saturating_sub(self.before.time);
        let seen = Seen {
            time: Duration::from_nanos(time.0),
            resident: bytes(now.resident),
            swapped: bytes(self.touched.saturating_sub(now.resident)),
            stalled: (now.waits - self.before.waits).of(passed),
            written,
            short: false,
        };
        let allowance = self.budget.as_mut().map(|budget| {
            budget.pass(seen.time);
            budget.wrote(0, written);
            budget.allowance(0)
        });
        Some(self.controller.look(&seen, allowance))
    }

    /// Notes what became of a decision: `moved` pages were reclaimed or given back, and `resident`
    /// are in DRAM.
    pub(super) fn looked(&mut self, now: Held, decision: Decision, moved: u64, resident: u64) {
        let moved = Bytes::of_pages(moved);
        self.controller.came(Moved {
            bytes: moved.0,
            tried: 0,
        });
        let (reclaimed, given_back) = match decision.step {
            Step::Reclaim(_) => (moved, Bytes(0)),
            Step::GiveBack(_) => (Bytes(0), moved),
            Step::Hold => (Bytes(0), Bytes(0)),
        };
        let look = Look {
            looks: 1,
            time_ns: now.time,
            dram: Bytes::of_pages(now.resident),
            waits: now.waits - self.before.waits,
            written: Bytes::of_pages(now.written - self.before.written),
            reclaimed,
            given_back,
            reason: decision.reason.name().to_owned(),
        };
        self.before = now;
        self.account.look(now, resident, look, decision.step);
    }

    /// Begins to add up anew, at the end of the warm-up.
    pub(super) fn renew(&mut self, now: Held) {
        self.account = Account::new(now);
    }

    /// Returns how it went until `end`.
    pub(super) fn outcome(&self, end: Held) -> Controlled {
        self.account.outcome(end)
    }

    /// Returns the looks behind the warm-up, some together where they are many.
    pub(super) fn looks(&self) -> Vec<Look> {
        self.account.looks.points.clone()
    }
}

/// Returns a later moment.
fn plus(moment: Nanos, time: Nanos) -> Nanos {
    Nanos(moment.0.saturating_add(time.0))
}
