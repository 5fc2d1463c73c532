//! `spatial`: the pages behind the faulted one, in address order.
//!
//! Fedorov 2016, 5.4.4.3: after a fault on page A, the pages A+1 to A+8.

use super::{Entry, Make, Prediction, Predictor, Source};
use crate::page::{Fault, Location, Memory, Page};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "spatial",
    summary: "the next pages in address order (Fedorov 2016, 5.4.4.3)",
    paper: "Fedorov 2016, 5.4.4.3",
    when: "Programs that walk through arrays from the front to the back, and nothing else.",
    evidence: crate::registry::Evidence::NONE,
    make: Make::Online(&|params| Ok(Box::new(Spatial::take(params)?))),
};

settings! {
    /// The `spatial` predictor.
    pub struct Spatial {
        /// pages behind the one that faulted
        degree: u64 = 8, 1..=512;
    }
}

impl Predictor for Spatial {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let Page(page) = fault.at.page;
        let behind = (1..=self.degree).map_while(|k| page.checked_add(k));
        let mut pages = Vec::with_capacity(self.degree as usize);
        pages.extend(behind.map(|page| Location::new(fault.at.space, Page(page))));
        predictions.push(Prediction::of(Source(0), pages));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{Everywhere, fault, pages};

    /// Fedorov 2016, figure 5.6.
    #[test]
    fn the_next_eight() {
        let mut spatial = Spatial::default();
        assert_eq!(
            pages(&mut spatial, &fault(1, 100), &mut Everywhere),
            [101, 102, 103, 104, 105, 106, 107, 108]
        );
    }

    #[test]
    fn no_page_behind_the_last() {
        let mut spatial = Spatial::default();
        let last = fault(1, u64::MAX - 1);
        assert_eq!(pages(&mut spatial, &last, &mut Everywhere), [u64::MAX]);
    }
}
