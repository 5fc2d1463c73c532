//! `corp`: the pages of Linux's swap readahead, the aligned block of the tier around the fault.
//!
//! The kernel reads the block in order within the faulting context, which the drivers do without a
//! predictor (Fedorov 2016, 5.4.2). As a predictor, outside that context and directly in the
//! device's main queue, it is `corp` (Fedorov 2016, 5.5.2).

use super::{EngineSettings, Entry, Make, Order, Params, Prediction, Predictor, Source};
use crate::page::{Fault, Memory, Slot};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "corp",
    summary: "the kernel's aligned block, fetched beside the program, without a queue of hints (Fedorov 2016, 5.5.2)",
    paper: "Fedorov 2016, 5.5.2",
    when: "For comparison: what the kernel's readahead would gain if the faulting program did not wait for it.",
    make: Make::Online(|params| Ok(Box::new(Readahead::new(params)?))),
};

/// The `corp` predictor.
#[derive(Clone, Copy, Debug)]
pub struct Readahead {
    /// Slots of a block, as a power of two: `vm.page-cluster`.
    cluster: u32,
}

impl Readahead {
    /// Makes a predictor with the given settings.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        Ok(Self {
            cluster: params.take(
                "cluster",
                "pages of a block, as a power of two, like vm.page-cluster",
                3,
                1..=9,
            )?,
        })
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
        predictions.push(Prediction {
            source: Source(0),
            pages: block
                .filter(|other| *other != slot)
                .filter_map(|other| memory.page_in(Slot(other)))
                .collect(),
            goes_on: false,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{Everywhere, fault, pages};

    #[test]
    fn the_aligned_block_in_its_order() {
        let mut readahead = Readahead::new(&mut Params::default()).unwrap();
        assert_eq!(
            pages(&mut readahead, &fault(1, 21), &mut Everywhere),
            [16, 17, 18, 19, 20, 22, 23]
        );
    }
}
