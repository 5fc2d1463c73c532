//! `corp`: the pages of Linux's swap readahead, the aligned block of the tier around the fault.
//!
//! The kernel reads the block in order within the faulting context, which the drivers do without a
//! predictor (Fedorov 2016, 5.4.2). As a predictor, outside that context and directly in the
//! device's main queue, it is `corp` (Fedorov 2016, 5.5.2).

use super::{EngineSettings, Entry, Make, Order, Prediction, Predictor, Source};
use crate::page::{Fault, Memory, Slot};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "corp",
    summary: "the kernel's aligned block, fetched beside the program, without a queue of hints (Fedorov 2016, 5.5.2)",
    paper: "Fedorov 2016, 5.5.2",
    when: "For comparison: what the kernel's readahead would gain if the faulting program did not wait for it.",
    evidence: crate::registry::Evidence::NONE,
    make: Make::Online(&|params| Ok(Box::new(Readahead::take(params)?))),
};

settings! {
    /// The `corp` predictor.
    pub struct Readahead {
        /// pages of a block, as a power of two, like vm.page-cluster
        cluster: u32 = 3, 1..=9;
    }
}

impl Predictor for Readahead {
    fn engine(&self) -> EngineSettings {
        EngineSettings {
            order: Order::Direct,
            ..EngineSettings::default()
        }
    }

    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let Some(Slot(slot)) = memory.slot(fault.at) else {
            return;
        };
        let within = (1 << self.cluster) - 1;
        let block = slot & !within..=slot | within;
        let others = block.filter(|other| *other != slot);
        let pages = others.filter_map(|other| memory.page_in(Slot(other)));
        predictions.push(Prediction::of(Source(0), pages.collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{Everywhere, fault, pages};

    #[test]
    fn the_aligned_block_in_its_order() {
        let mut readahead = Readahead::default();
        assert_eq!(
            pages(&mut readahead, &fault(1, 21), &mut Everywhere),
            [16, 17, 18, 19, 20, 22, 23]
        );
    }
}
