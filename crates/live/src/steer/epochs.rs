//! Epochs: whether the kernel's readahead serves better than single pages is judged at the end of
//! each.

use terrace_policy::page_cluster::{Chooser, Readahead};
use terrace_policy::prefetch::Costs;

use crate::group::counters::SwapCounters;
use crate::machine::sysctl::PageCluster;

/// Measures the benefit of the kernel's readahead, epoch by epoch.
pub(super) struct Epochs {
    chooser: Chooser,
    knob: PageCluster,
    counted: SwapCounters,
}

impl Epochs {
    pub(super) fn new(knob: PageCluster) -> Self {
        Self {
            chooser: Chooser::default(),
            knob,
            counted: SwapCounters::read(),
        }
    }

    /// Returns to the machine's setting.
    pub(super) fn retry(&mut self) {
        if self.chooser.current() == Readahead::Off {
            self.chooser.retry();
            self.counted = SwapCounters::read();
            let _ = self.knob.set(false);
        }
    }

    /// Ends an epoch.
    pub(super) fn end(&mut self, costs: &Costs) {
        let counted = SwapCounters::read();
        let epoch = counted.since(self.counted);
        let before = self.chooser.current();
        let after = self
            .chooser
            .epoch(epoch.readahead, epoch.readahead_hits, costs);
        if after != before {
            // A knob that cannot be written stays as it is; the program goes on.
            let _ = self.knob.set(after == Readahead::Off);
        }
        self.counted = counted;
    }
}
