//! The pages of one answer as they are found.

use super::{Prediction, Source};
use crate::page::{Fault, Location, Page};

/// Pages of the address space that faulted, best first: none twice, not the one that faulted, and
/// no more than so many.
pub(super) struct Answer {
    fault: Location,
    pages: Vec<Location>,
    degree: usize,
}

/// Room for so many pages is made at once.
const USUAL: usize = 16;

impl Answer {
    /// An empty answer of at most `degree` pages.
    pub(super) fn new(fault: &Fault, degree: usize) -> Self {
        Self {
            fault: fault.at,
            pages: Vec::new(),
            degree,
        }
    }

    /// Adds the next best page, if it is one and there is room; whether there is room for more.
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

    /// The prediction, if there is a page in it.
    pub(super) fn of(self, source: Source) -> Option<Prediction> {
        (!self.pages.is_empty()).then_some(Prediction {
            source,
            pages: self.pages,
            goes_on: false,
        })
    }
}
