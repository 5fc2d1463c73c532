//! A policy with the rules that hold for all of them, and the counts of its decisions.

use std::mem;
use std::time::Duration;

use super::search::Search;
use super::{Control, Moved, Reason, Seen, Step};
use crate::page::PAGE_BYTES;

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What a driver does next.
    pub step: Step,
    /// Why.
    pub reason: Reason,
    /// Whether more would have been reclaimed, and the budget of writes does not pay for that.
    pub is_cut: bool,
}

/// Counts of decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Looks.
    pub looks: u64,
    /// Decisions to reclaim.
    pub reclaims: u64,
    /// Bytes of these.
    pub reclaimed: u64,
    /// Decisions to give back.
    pub returns: u64,
    /// Bytes of these.
    pub returned: u64,
    /// Looks at which something would have been reclaimed, and the budget of writes was spent.
    pub unpaid: u64,
    /// Looks at which the machine was short of memory.
    pub short: u64,
}

/// A control policy, and the rules that hold for all.
pub struct Controller {
    policy: Box<dyn Control>,
    decisions: Decisions,
    search: Search,
    /// The step of the last look, until it is told what it came to, and the time of that look.
    step: Step,
    time: Duration,
}

impl Controller {
    pub(super) fn new(policy: Box<dyn Control>) -> Self {
        Self {
            policy,
            decisions: Decisions::default(),
            search: Search::default(),
            step: Step::Hold,
            time: Duration::ZERO,
        }
    }

    /// Time between two looks.
    pub fn every(&self) -> Duration {
        self.policy.every()
    }

    /// What was decided so far.
    pub fn decisions(&self) -> Decisions {
        self.decisions
    }

    /// Handles a look. `allowance` is the number of bytes that the budget of writes pays for now;
    /// `None` if there is no budget. Steps are whole pages; of less than one nothing is left.
    pub fn look(&mut self, seen: &Seen, allowance: Option<u64>) -> Decision {
        let (step, reason) = self.policy.look(seen);
        let pauses = self.search.pauses(seen.time);
        let decision = decide(step, reason, seen, allowance, pauses);
        self.count(decision);
        (self.step, self.time) = (decision.step, seen.time);
        decision
    }

    /// Notes what the step of the last look came to. It is not told of a step that failed.
    pub fn came(&mut self, moved: Moved) {
        if let Step::Reclaim(_) = mem::replace(&mut self.step, Step::Hold) {
            self.search.found(moved, self.time);
            self.policy.reclaimed(moved.bytes);
        }
    }

    fn count(&mut self, decision: Decision) {
        let counts = &mut self.decisions;
        counts.looks += 1;
        counts.short += u64::from(decision.reason == Reason::Short);
        counts.unpaid += u64::from(decision.reason == Reason::Writes);
        match decision.step {
            Step::Reclaim(bytes) => {
                counts.reclaims += 1;
                counts.reclaimed += bytes;
            }
            Step::GiveBack(bytes) => {
                counts.returns += 1;
                counts.returned += bytes;
            }
            Step::Hold => {}
        }
    }
}

/// Holds what a policy answered to the rules. If the controller `pauses`, nothing was found.
fn decide(
    step: Step,
    reason: Reason,
    seen: &Seen,
    allowance: Option<u64>,
    pauses: bool,
) -> Decision {
    let pages = |bytes: u64| bytes - bytes % PAGE_BYTES;
    let whole = |step, reason| Decision {
        step,
        reason,
        is_cut: false,
    };
    match step {
        Step::Hold => whole(Step::Hold, reason),
        // Who reclaims on a machine that is short of memory competes with the kernel, and who
        // gives back takes what others need.
        _ if seen.short => whole(Step::Hold, Reason::Short),
        Step::Reclaim(bytes) => {
            let bytes = pages(bytes.min(seen.resident));
            let paid = bytes.min(pages(allowance.unwrap_or(u64::MAX)));
            match (bytes, paid) {
                (0, _) => whole(Step::Hold, reason),
                _ if pauses => whole(Step::Hold, Reason::Barren),
                (_, 0) => Decision {
                    is_cut: true,
                    ..whole(Step::Hold, Reason::Writes)
                },
                (bytes, paid) => Decision {
                    is_cut: paid < bytes,
                    ..whole(Step::Reclaim(paid), reason)
                },
            }
        }
        Step::GiveBack(bytes) => match pages(bytes.min(seen.swapped)) {
            0 => whole(Step::Hold, reason),
            bytes => whole(Step::GiveBack(bytes), reason),
        },
    }
}
