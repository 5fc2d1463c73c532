//! `temporal`: the pages that lie next to the faulted one in the tier.
//!
//! Fedorov 2016, 5.4.4.2: pages that were swapped out together were likely used together, and
//! will be again. The nearest go first, a later one before an earlier one: pages are swapped out
//! in the order in which they were used.

use super::{Params, Prediction, Predictor, Source};
use crate::page::{Fault, Memory, Slot};

/// The predictor.
#[derive(Clone, Copy, Debug)]
pub struct Temporal {
    /// Pages around each fault.
    degree: u64,
}

impl Temporal {
    /// Takes its settings.
    ///
    /// # Errors
    /// A sentence where one is out of range.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        Ok(Self {
            degree: params.number("degree", 16, 1..=512)?,
        })
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
    use crate::prefetch::testing::{Everywhere, Swapped, fault, pages};

    #[test]
    fn the_nearest_in_the_tier_first() {
        let mut memory = Swapped(vec![70, 3, 12, 9, 40, 5]);
        let mut temporal = Temporal::new(&mut Params::parse("degree=5").unwrap()).unwrap();
        // Behind and before place 3, in turn: 4, 2, 5, 1, and 6 where nothing lies.
        assert_eq!(
            pages(&mut temporal, &fault(1, 9), &mut memory),
            [40, 12, 5, 3]
        );
    }

    #[test]
    fn sixteen_around_the_fault() {
        let mut temporal = Temporal::new(&mut Params::default()).unwrap();
        let mut named = pages(&mut temporal, &fault(1, 100), &mut Everywhere);
        named.sort_unstable();
        let around: Vec<u64> = (92..=108).filter(|page| *page != 100).collect();
        assert_eq!(named, around);
    }

    #[test]
    fn a_page_without_a_place_has_no_neighbours() {
        let mut temporal = Temporal::new(&mut Params::default()).unwrap();
        let mut memory = Swapped(vec![1, 2]);
        assert!(pages(&mut temporal, &fault(1, 9), &mut memory).is_empty());
    }
}
