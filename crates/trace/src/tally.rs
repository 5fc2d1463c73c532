//! What a reader takes otherwise than it stands, and a writer cannot write, with counts.

use std::fmt;
use std::path::{Path, PathBuf};
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

    /// Sets the count of `what`.
    pub(crate) fn set(&self, what: &'static str, count: u64) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.retain(|(known, _)| *known != what);
        if count > 0 {
            counts.push((what, count));
        }
    }

    /// Returns what was counted so far, in the order in which it was first met.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = self.0.lock();
        counts.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What was counted of traces that were opened in one way, each any number of times: a pass over a
/// trace counts what another one does, as far as it goes.
#[derive(Clone, Default)]
pub struct Tallies(Arc<Mutex<Vec<Passes>>>);

/// The passes over a trace.
struct Passes {
    path: PathBuf,
    /// The most that any pass which has ended has counted.
    most: Vec<(&'static str, u64)>,
    going: Vec<Tally>,
}

impl Passes {
    /// Takes what those have counted that have ended.
    fn settle(&mut self) {
        let is_going = |tally: &Tally| Arc::strong_count(&tally.0) > 1;
        let (going, ended) = std::mem::take(&mut self.going)
            .into_iter()
            .partition(is_going);
        self.going = going;
        ended
            .iter()
            .for_each(|tally: &Tally| raise(&mut self.most, tally));
    }
}

/// Raises counts to those of a tally.
fn raise(most: &mut Vec<(&'static str, u64)>, tally: &Tally) {
    for (what, count) in tally.counts() {
        match most.iter_mut().find(|(known, _)| *known == what) {
            Some((_, all)) => *all = count.max(*all),
            None => most.push((what, count)),
        }
    }
}

impl Tallies {
    /// Adds a pass over the trace at a path.
    pub(crate) fn begin(&self, path: &Path, tally: &Tally) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|passes| passes.path == path);
        let index = known.unwrap_or(all.len());
        if known.is_none() {
            all.push(Passes {
                path: path.to_owned(),
                most: Vec::new(),
                going: Vec::new(),
            });
        }
        all[index].settle();
        all[index].going.push(tally.clone());
    }

    /// Returns what was counted so far of the trace at a path.
    pub fn of(&self, path: &Path) -> Vec<(&'static str, u64)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = Vec::new();
        for passes in all.iter().filter(|passes| passes.path == path) {
            counts.clone_from(&passes.most);
            let going = passes.going.iter();
            going.for_each(|tally| raise(&mut counts, tally));
        }
        counts
    }
}

impl fmt::Debug for Tallies {
    /// Writes nothing of what was counted: how a trace is read does not depend on it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tallies")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_passes_the_furthest_counts() {
        let (all, path) = (Tallies::default(), Path::new("a"));
        for lines in [3, 5, 2] {
            let tally = Tally::default();
            all.begin(path, &tally);
            tally.add("lines were skipped", lines);
            tally.add("lines were cut", 0);
        }
        let going = Tally::default();
        all.begin(path, &going);
        going.add("requests were clipped", 7);
        let expected = [("lines were skipped", 5), ("requests were clipped", 7)];
        assert_eq!(all.of(path), expected);
        assert!(all.of(Path::new("b")).is_empty());
        let kept = all.0.lock().unwrap()[0].going.len();
        assert_eq!(kept, 1);
    }
}
