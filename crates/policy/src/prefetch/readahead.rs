//! The pages of Linux's swap readahead: the aligned block of the tier around the one that faulted.
//!
//! The kernel reads the block in its order within the faulting context, which the drivers do
//! without a predictor (Fedorov 2016, 5.4.2). As a predictor, off that context and straight into
//! the device's main queue, it is `corp` (Fedorov 2016, 5.5.2).

use super::{Params, Prediction, Predictor, Source};
use crate::page::{Fault, Memory, Slot};

/// The predictor.
#[derive(Clone, Copy, Debug)]
pub struct Readahead {
    /// Places of a block, as a power of two: `vm.page-cluster`.
    cluster: u32,
}

impl Readahead {
    /// Takes its settings.
    ///
    /// # Errors
    /// A sentence where one is out of range.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        Ok(Self {
            cluster: params.number("cluster", 3, 1..=9)?,
        })
    }
}

impl Predictor for Readahead {
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
