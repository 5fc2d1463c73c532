//! The ranges of the program that are in extended memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The ranges of this process.
static ADOPTED: Mutex<Adopted> = Mutex::new(Adopted(BTreeMap::new()));

/// Ranges by first address, with the address behind each.
pub struct Adopted(BTreeMap<usize, usize>);

/// Returns the ranges of this process.
pub fn adopted() -> MutexGuard<'static, Adopted> {
    ADOPTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the ranges unless a thread has them just now.
pub fn at_once() -> Option<MutexGuard<'static, Adopted>> {
    ADOPTED.try_lock().ok()
}

impl Adopted {
    /// Adds a range.
    pub fn add(&mut self, start: usize, end: usize) {
        self.remove(start, end);
        self.0.insert(start, end);
    }

    /// Removes a range, or the parts of others that it covers, and returns whether there were any.
    pub fn remove(&mut self, start: usize, end: usize) -> bool {
        let covered: Vec<_> = self.covered(start, end).collect();
        for (from, to) in &covered {
            self.0.remove(from);
            if *from < start {
                self.0.insert(*from, start);
            }
            if end < *to {
                self.0.insert(end, *to);
            }
        }
        !covered.is_empty()
    }

    /// Whether a part of a range is in one of these.
    pub fn touches(&self, start: usize, end: usize) -> bool {
        self.covered(start, end).next().is_some()
    }

    fn covered(&self, start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
        let before = self.0.range(..start).next_back();
        let before = before.filter(move |(_, to)| **to > start);
        let ranges = before.into_iter().chain(self.0.range(start..end));
        ranges.map(|(from, to)| (*from, *to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_removed() {
        let mut adopted = Adopted(BTreeMap::new());
        adopted.add(10, 20);
        adopted.add(30, 40);
        assert!(adopted.touches(19, 21) && !adopted.touches(20, 30));
        assert!(adopted.remove(15, 32));
        assert!(!adopted.remove(15, 32));
        assert_eq!(adopted.0, BTreeMap::from([(10, 15), (32, 40)]));
        assert!(adopted.remove(11, 12));
        assert_eq!(adopted.0, BTreeMap::from([(10, 11), (12, 15), (32, 40)]));
        adopted.add(0, 100);
        assert_eq!(adopted.0, BTreeMap::from([(0, 100)]));
    }
}
