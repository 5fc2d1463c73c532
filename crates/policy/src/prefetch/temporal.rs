//! `temporal`: the neighbours of the faulted page in the tier.
//!
//! Fedorov 2016, 5.4.4.2: pages that were swapped out together were likely used together, and will
//! be again. The nearest neighbours go first, and of two equally near ones the later, because pages
//! are swapped out in the order of their use.

use super::{Entry, Make, Prediction, Predictor, Source};
use crate::page::{Fault, Memory, Slot};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "temporal",
    summary: "the neighbours in the tier, which were swapped out together (Fedorov 2016, 5.4.4.2)",
    paper: "Fedorov 2016, 5.4.4.2",
    when: "Programs that use the same data together time and again, wherever they lie, such as interpreters and object graphs.",
    evidence: crate::registry::Evidence::NONE,
    make: Make::Online(&|params| Ok(Box::new(Temporal::take(params)?))),
};

settings! {
    /// The `temporal` predictor.
    pub struct Temporal {
        /// neighbours in the tier that are named at a fault, at most
        degree: u64 = 16, 1..=512;
    }
}

impl Predictor for Temporal {
    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let Some(Slot(slot)) = memory.slot(fault.at) else {
            return;
        };
        let mut pages = Vec::with_capacity(self.degree as usize);
        for place in 2..2 + self.degree {
            let neighbour = match place % 2 {
                0 => slot.checked_add(place / 2),
                _ => slot.checked_sub(place / 2),
            };
            if let Some(at) = neighbour.and_then(|slot| memory.page_in(Slot(slot))) {
                pages.push(at);
            }
        }
        predictions.push(Prediction::of(Source(0), pages));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{Everywhere, Swapped, fault, pages};

    #[test]
    fn the_nearest_in_the_tier_first() {
        let mut memory = Swapped(vec![70, 3, 12, 9, 40, 5]);
        let mut temporal = Temporal { degree: 5 };
        // Behind and before place 3, in turn: 4, 2, 5, 1, and 6 where nothing lies.
        assert_eq!(
            pages(&mut temporal, &fault(1, 9), &mut memory),
            [40, 12, 5, 3]
        );
    }

    #[test]
    fn sixteen_around_the_fault() {
        let mut temporal = Temporal::default();
        let mut named = pages(&mut temporal, &fault(1, 100), &mut Everywhere);
        named.sort_unstable();
        let around: Vec<u64> = (92..=108).filter(|page| *page != 100).collect();
        assert_eq!(named, around);
    }

    #[test]
    fn a_page_without_a_place_has_no_neighbours() {
        let mut temporal = Temporal::default();
        let mut memory = Swapped(vec![1, 2]);
        assert!(pages(&mut temporal, &fault(1, 9), &mut memory).is_empty());
    }
}
