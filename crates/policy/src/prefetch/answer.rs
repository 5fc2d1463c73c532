//! Collects the pages of one answer.

use super::{Prediction, Source};
use crate::page::{Fault, Location, Page};

/// Pages of the faulting address space, best first: distinct, without the faulting page, and at
/// most as many as the degree.
pub(super) struct Answer {
    fault: Location,
    pages: Vec<Location>,
    degree: usize,
}

/// Initial capacity in pages.
const USUAL: usize = 16;

impl Answer {
    /// Makes an empty answer of at most `degree` pages.
    pub(super) fn new(fault: &Fault, degree: usize) -> Self {
        Self {
            fault: fault.at,
            pages: Vec::new(),
            degree,
        }
    }

    /// Adds the next best page, if there is one and it fits; returns whether there is room for
    /// more.
    pub(super) fn add(&mut self, page: Option<Page>) -> bool {
        let at = page.map(|page| Location::new(self.fault.space, page));
        let is_new = |at: &Location| *at != self.fault && !self.pages.contains(at);
        if self.pages.len() < self.degree
            && let Some(at) = at.filter(is_new)
        {
            if self.pages.is_empty() {
                self.pages.reserve(self.degree.min(USUAL));
            }
            self.pages.push(at);
        }
        self.pages.len() < self.degree
    }

    /// Returns the prediction, or `None` if it has no page.
    pub(super) fn of(self, source: Source) -> Option<Prediction> {
        let is_empty = self.pages.is_empty();
        (!is_empty).then(|| Prediction::of(source, self.pages))
    }
}
