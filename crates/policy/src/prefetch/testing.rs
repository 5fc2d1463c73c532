//! Helpers for the tests of predictors.

use super::{Prediction, Predictor};
use crate::page::{Fault, Location, Memory, Page, Residence, Slot, Space, Thread};

/// The one address space.
pub(crate) const SPACE: Space = Space(1);

/// A fault of a thread on a page.
pub(crate) fn fault(thread: u32, page: u64) -> Fault {
    Fault {
        thread: Thread(thread),
        at: Location::new(SPACE, Page(page)),
        offset: 0,
    }
}

/// Returns the predictions of a predictor at a fault.
pub(crate) fn predictions(
    predictor: &mut dyn Predictor,
    fault: &Fault,
    memory: &mut dyn Memory,
) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    predictor.fault(fault, memory, &mut predictions);
    predictions
}

/// Returns the pages that a predictor names at a fault, best first.
pub(crate) fn pages(
    predictor: &mut dyn Predictor,
    fault: &Fault,
    memory: &mut dyn Memory,
) -> Vec<u64> {
    let named = predictions(predictor, fault, memory);
    let pages = named.iter().flat_map(|prediction| &prediction.pages);
    pages.map(|at| at.page.0).collect()
}

/// A memory whose pages all lie in the tier, in the order of addresses: page `p` in place `p`.
pub(crate) struct Everywhere;

impl Memory for Everywhere {
    fn residence(&mut self, _: Location) -> Residence {
        Residence::InTier
    }

    fn slot(&mut self, at: Location) -> Option<Slot> {
        Some(Slot(at.page.0))
    }

    fn page_in(&mut self, slot: Slot) -> Option<Location> {
        Some(Location::new(SPACE, Page(slot.0)))
    }
}

/// A memory with these pages in the tier, the first in place 0.
pub(crate) struct Swapped(pub(crate) Vec<u64>);

impl Memory for Swapped {
    fn residence(&mut self, at: Location) -> Residence {
        match self.0.contains(&at.page.0) {
            true => Residence::InTier,
            false => Residence::Nowhere,
        }
    }

    fn slot(&mut self, at: Location) -> Option<Slot> {
        let place = self.0.iter().position(|page| *page == at.page.0)?;
        Some(Slot(place as u64))
    }

    fn page_in(&mut self, slot: Slot) -> Option<Location> {
        let page = self.0.get(usize::try_from(slot.0).ok()?)?;
        Some(Location::new(SPACE, Page(*page)))
    }
}

/// Returns the pages named at each of several faults of one thread.
pub(crate) fn answers(predictor: &mut dyn Predictor, faults: &[u64]) -> Vec<Vec<u64>> {
    let answer = |page: &u64| pages(predictor, &fault(1, *page), &mut Everywhere);
    faults.iter().map(answer).collect()
}
