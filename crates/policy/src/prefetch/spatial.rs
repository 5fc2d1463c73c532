//! `spatial`: the pages behind the one that faulted, in the order of addresses.
//!
//! Fedorov 2016, 5.4.4.3: after a fault on page A, the pages A+1 to A+8.

use super::{Params, Prediction, Predictor, Source};
use crate::page::{Fault, Location, Memory, Page};

/// The predictor.
#[derive(Clone, Copy, Debug)]
pub struct Spatial {
    /// Pages after each fault.
    degree: u64,
}

impl Spatial {
    /// Takes its settings.
    ///
    /// # Errors
    /// A sentence where one is out of range.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        Ok(Self {
            degree: params.number("degree", 8, 1..=512)?,
        })
    }
}

impl Predictor for Spatial {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let Page(page) = fault.at.page;
        let behind = (1..=self.degree).map_while(|k| page.checked_add(k));
        let mut pages = Vec::with_capacity(self.degree as usize);
        pages.extend(behind.map(|page| Location::new(fault.at.space, Page(page))));
        predictions.push(Prediction {
            source: Source(0),
            pages,
            goes_on: false,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{Everywhere, fault, pages};

    /// Fedorov 2016, figure 5.6.
    #[test]
    fn the_next_eight() {
        let mut spatial = Spatial::new(&mut Params::default()).unwrap();
        assert_eq!(
            pages(&mut spatial, &fault(1, 100), &mut Everywhere),
            [101, 102, 103, 104, 105, 106, 107, 108]
        );
    }

    #[test]
    fn no_page_behind_the_last() {
        let mut spatial = Spatial::new(&mut Params::default()).unwrap();
        let last = fault(1, u64::MAX - 1);
        assert_eq!(pages(&mut spatial, &last, &mut Everywhere), [u64::MAX]);
    }
}
