//! The worth of fetching, in the time that it wins and loses a program.
//!
//! A fetch is worth the demand fault that it spares, and nothing if the kernel's readahead would
//! have spared it as well ([`Ghost`]). Predictors, the kernel's readahead and the watching of a
//! program are all judged by these figures and the [`Costs`] of the machine.

use std::ops::Sub;

use super::ghost::{Ghost, KernelReadahead};
use super::{Costs, Outcome};
use crate::page::{Location, Memory, Space};

/// Part of a demand fault that a late page spares: it was touched at any time while it was read.
const LATE: f64 = 0.5;

/// Numbers of fetched pages by their worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worth {
    /// Pages that spared a demand fault.
    pub used: u64,
    /// Pages that spared a part of one.
    pub late: u64,
    /// Pages that were used or late, and that the kernel's readahead would have brought.
    pub redundant: u64,
    /// Pages that were evicted before they were touched.
    pub wasted: u64,
}

impl Worth {
    /// Counts the end of a fetched page that is `redundant` if readahead would have brought it.
    pub fn count(&mut self, outcome: Outcome, redundant: bool) {
        match outcome {
            Outcome::Used | Outcome::Late if redundant => self.redundant += 1,
            Outcome::Used => self.used += 1,
            Outcome::Late => self.late += 1,
            Outcome::Wasted => self.wasted += 1,
            // It read nothing.
            Outcome::Reissued => {}
        }
    }

    /// Returns the number of pages.
    pub fn pages(&self) -> u64 {
        self.used + self.late + self.redundant + self.wasted
    }

    /// Returns the time in seconds that the program did not wait.
    pub fn won(&self, costs: &Costs) -> f64 {
        costs.saved().as_secs_f64() * (self.used as f64 + LATE * self.late as f64)
    }

    /// Returns the time in seconds that was lost: by pages that were wasted, and by the work for
    /// those that would have come in any case.
    pub fn lost(&self, costs: &Costs) -> f64 {
        costs.lost().as_secs_f64() * self.wasted as f64
            + costs.redundant.as_secs_f64() * self.redundant as f64
    }
}

impl Sub for Worth {
    type Output = Self;

    /// Returns what was counted since `earlier`.
    fn sub(self, earlier: Self) -> Self {
        Self {
            used: self.used - earlier.used,
            late: self.late - earlier.late,
            redundant: self.redundant - earlier.redundant,
            wasted: self.wasted - earlier.wasted,
        }
    }
}

/// Appraises the fetches of an engine as they end.
#[derive(Debug)]
pub(super) struct Appraisal {
    worth: Worth,
    costs: Costs,
    /// What the kernel would do by itself; `None` if it reads single pages.
    ghost: Option<Ghost>,
}

impl Default for Appraisal {
    fn default() -> Self {
        Self {
            worth: Worth::default(),
            costs: Costs::DISK,
            ghost: None,
        }
    }
}

impl Appraisal {
    /// Sets the costs of faults and fetches.
    pub(super) fn set_costs(&mut self, costs: Costs) {
        self.costs = costs;
    }

    /// Returns the costs of faults and fetches.
    pub(super) fn costs(&self) -> Costs {
        self.costs
    }

    /// Compares with this readahead from now on.
    pub(super) fn compare_with(&mut self, readahead: Option<KernelReadahead>) {
        self.ghost = readahead.map(Ghost::new);
    }

    /// Handles a demand fault.
    pub(super) fn faulted(&mut self, at: Location, memory: &mut dyn Memory) {
        if let Some(ghost) = &mut self.ghost {
            ghost.touched(at, memory);
        }
    }

    /// Handles the touch of a fetched page, once; returns whether readahead would have brought it,
    /// where that pays.
    pub(super) fn is_redundant(
        &mut self,
        at: Location,
        outcome: Outcome,
        memory: &mut dyn Memory,
    ) -> bool {
        let used = matches!(outcome, Outcome::Used | Outcome::Late);
        let ghost = self.ghost.as_mut().filter(|_| used);
        ghost.is_some_and(|ghost| ghost.touched(at, memory) && ghost.pays(&self.costs))
    }

    /// Whether readahead would pay without fetches.
    pub(super) fn readahead_pays(&self) -> bool {
        self.ghost
            .as_ref()
            .is_some_and(|ghost| ghost.pays(&self.costs))
    }

    /// Counts the end of a fetched page.
    pub(super) fn count(&mut self, outcome: Outcome, redundant: bool) {
        self.worth.count(outcome, redundant);
    }

    /// Forgets an address space that has ended.
    pub(super) fn forget(&mut self, space: Space) {
        if let Some(ghost) = &mut self.ghost {
            ghost.forget(space);
        }
    }

    /// Returns the worth of all fetches so far.
    pub(super) fn worth(&self) -> Worth {
        self.worth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::Neighbours;
    use crate::prefetch::testing::{Everywhere, fault};

    #[test]
    fn a_page_is_worth_the_wait_that_it_spares() {
        let mut worth = Worth::default();
        for outcome in [
            Outcome::Used,
            Outcome::Late,
            Outcome::Wasted,
            Outcome::Reissued,
        ] {
            worth.count(outcome, false);
        }
        let costs = Costs::DISK;
        assert_eq!(worth.pages(), 3);
        assert_eq!(worth.won(&costs), costs.saved().as_secs_f64() * 1.5);
        assert_eq!(worth.lost(&costs), costs.lost().as_secs_f64());
        assert_eq!((worth - worth).pages(), 0);
    }

    #[test]
    fn what_the_kernel_brings_costs_its_fetch() {
        let mut worth = Worth::default();
        worth.count(Outcome::Used, true);
        worth.count(Outcome::Late, true);
        assert_eq!(worth.won(&Costs::DISK), 0.0);
        assert_eq!(
            worth.lost(&Costs::DISK),
            2.0 * Costs::DISK.fetch.as_secs_f64()
        );
    }

    /// Fetched and used in the order of places: of each block of eight, readahead would have
    /// brought all but the first.
    #[test]
    fn a_pass_in_the_order_of_places_is_worth_the_first_of_each_block() {
        let mut appraisal = Appraisal::default();
        appraisal.compare_with(Some(KernelReadahead {
            cluster: 3,
            by: Neighbours::Slots,
            horizon: 1000,
        }));
        for page in 0..800 {
            let at = fault(1, page).at;
            let redundant = appraisal.is_redundant(at, Outcome::Used, &mut Everywhere);
            appraisal.count(Outcome::Used, redundant);
        }
        let worth = appraisal.worth();
        assert_eq!((worth.used, worth.redundant), (100, 700));
    }

    #[test]
    fn without_readahead_nothing_is_redundant() {
        let mut appraisal = Appraisal::default();
        for page in 0..800 {
            let at = fault(1, page).at;
            appraisal.faulted(at, &mut Everywhere);
            assert!(!appraisal.is_redundant(at, Outcome::Used, &mut Everywhere));
        }
    }
}
