//! What a reader takes otherwise than it stands, and a writer cannot write, with counts.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts of a trace, of what is said in words; the clones of a tally are one.
#[derive(Clone, Default)]
pub struct Tally(Arc<Mutex<Vec<(&'static str, u64)>>>);

impl Tally {
    /// Adds to the count of `what`, which is a sentence's end behind a number, such as «lines were
    /// skipped».
    pub(crate) fn add(&self, what: &'static str, count: u64) {
        if count == 0 {
            return;
        }
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.iter_mut().find(|(known, _)| *known == what) {
            Some((_, all)) => *all = all.saturating_add(count),
            None => counts.push((what, count)),
        }
    }

    /// Returns what was counted so far, in the order in which it was first met.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = self.0.lock();
        counts.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl PartialEq for Tally {
    fn eq(&self, other: &Self) -> bool {
        self.counts() == other.counts()
    }
}

impl Eq for Tally {}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.counts()).finish()
    }
}
